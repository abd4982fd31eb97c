/** Delivers again what has failed since a time. */
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'

import { commonTexts } from '../i18n/common.ts'
import { useTexts } from '../i18n/texts.ts'
import { queryClient } from '../queries.ts'
import { kinora } from '../service.ts'
import { Button } from '../ui/button.tsx'
import { ErrorPanel } from '../ui/feedback.tsx'
import { SelectField } from '../ui/field.tsx'
import { Sheet } from '../ui/sheet.tsx'
import { showToast } from '../ui/toast.tsx'
import { nameOf } from './endpoint-actions.ts'
import { webhookTexts } from './texts.ts'
import { webhooksKey, type WebhookEndpoint } from './webhook-data.ts'

const periods = { hour: 3_600, day: 86_400, week: 7 * 86_400, month: 30 * 86_400 }
type Period = keyof typeof periods

export const RedeliverSheet = ({ endpoint, onClose }: { endpoint: WebhookEndpoint; onClose: () => void }) => {
  const { redeliver: texts } = useTexts(webhookTexts)
  const common = useTexts(commonTexts)
  const [period, setPeriod] = useState<Period>('day')
  const redeliver = useMutation({
    mutationFn: async () => {
      const since = Math.floor(Date.now() / 1_000) - periods[period]
      for (let total = 0; ;) {
        const { count, has_more: hasMore } = await kinora.webhooks.redeliver(endpoint.id, { since })
        total += count
        if (!hasMore || count === 0) return total
      }
    },
    onSuccess: (count) => {
      void queryClient.invalidateQueries({ queryKey: webhooksKey })
      showToast(texts.done(count))
      onClose()
    },
  })
  return (
    <Sheet
      title={texts.title(nameOf(endpoint))}
      isOpen
      onClose={onClose}
      footer={
        <>
          <Button onPress={onClose}>{common.cancel}</Button>
          <Button variant="primary" isBusy={redeliver.isPending} onPress={() => redeliver.mutate()}>
            {texts.submit}
          </Button>
        </>
      }
    >
      <p className="soft">{texts.intro}</p>
      <SelectField
        label={texts.since}
        options={(Object.keys(periods) as Period[]).map((value) => ({ value, label: texts.periods[value] }))}
        value={period}
        onChange={setPeriod}
      />
      {redeliver.isError && <ErrorPanel error={redeliver.error} />}
    </Sheet>
  )
}
