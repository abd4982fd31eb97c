/** Sends a test event, and shows how the endpoint responds. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { commonTexts } from '../i18n/common.ts'
import { useTexts } from '../i18n/texts.ts'
import { queryClient } from '../queries.ts'
import { kinora } from '../service.ts'
import { Button } from '../ui/button.tsx'
import { ErrorPanel, Note } from '../ui/feedback.tsx'
import { SelectField } from '../ui/field.tsx'
import { Sheet } from '../ui/sheet.tsx'
import { AttemptList } from './attempt-list.tsx'
import { nameOf } from './endpoint-actions.ts'
import { webhookTexts } from './texts.ts'
import { deliveryQuery, webhooksKey, type EventName, type WebhookEndpoint } from './webhook-data.ts'

export const TestSheet = ({ endpoint, onClose }: { endpoint: WebhookEndpoint; onClose: () => void }) => {
  const { test: texts, columns } = useTexts(webhookTexts)
  const common = useTexts(commonTexts)
  const [type, setType] = useState<EventName>(endpoint.events[0] ?? 'video.completed')
  const send = useMutation({
    mutationFn: () => kinora.webhooks.test(endpoint.id, { type }),
    onSuccess: () => void queryClient.invalidateQueries({ queryKey: webhooksKey }),
  })
  return (
    <Sheet
      title={texts.title(nameOf(endpoint))}
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button onPress={onClose}>{common.close}</Button>
          <Button variant="primary" isBusy={send.isPending} onPress={() => send.mutate()}>
            {texts.submit}
          </Button>
        </>
      }
    >
      <p className="soft">{texts.intro}</p>
      <SelectField
        label={columns.type}
        options={endpoint.events.map((event) => ({ value: event, label: event }))}
        value={type}
        onChange={setType}
      />
      {send.isError && <ErrorPanel error={send.error} />}
      {send.data !== undefined && <Result key={send.data.id} id={send.data.id} />}
    </Sheet>
  )
}

/** A test is answered when its first attempt has ended. */
const Result = ({ id }: { id: string }) => {
  const { test: texts } = useTexts(webhookTexts)
  const { data: delivery, isError, error } = useQuery(deliveryQuery(id))
  if (isError) return <ErrorPanel error={error} />
  if (delivery === undefined || delivery.attempts.length === 0)
    return (
      <Note kind="plain" role="status">
        {texts.waiting}
      </Note>
    )
  const isDelivered = delivery.state === 'delivered'
  return (
    <>
      <Note kind={isDelivered ? 'info' : 'danger'} role="status">
        {isDelivered ? texts.delivered : texts.failed}
      </Note>
      <AttemptList delivery={delivery} />
    </>
  )
}
