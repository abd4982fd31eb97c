/** Creates a webhook endpoint, or changes one. */
import { isKinoraError } from '@kinora/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useId, useState, type FormEvent } from 'react'

import { webhookFields } from '../generated/key-and-webhook-fields.ts'
import { commonTexts } from '../i18n/common.ts'
import { formatNumber } from '../i18n/format.ts'
import { useTexts } from '../i18n/texts.ts'
import { queryClient } from '../queries.ts'
import { kinora } from '../service.ts'
import { Button } from '../ui/button.tsx'
import { Checklist } from '../ui/checklist.tsx'
import { ChoiceField } from '../ui/choice.tsx'
import { ErrorPanel } from '../ui/feedback.tsx'
import { TextField } from '../ui/field.tsx'
import { Sheet } from '../ui/sheet.tsx'
import { showToast } from '../ui/toast.tsx'
import { nameOf } from './endpoint-actions.ts'
import { webhookTexts } from './texts.ts'
import { eventTypesQuery, isUrl, webhooksKey, type EventName, type WebhookEndpoint } from './webhook-data.ts'

interface EndpointSheetProps {
  /** Undefined for a new endpoint. */
  present?: WebhookEndpoint
  onCreated?: (endpoint: WebhookEndpoint, secret: string) => void
  onClose: () => void
}

const { minimum, maximum } = webhookFields.concurrency
const usualEvents: EventName[] = ['video.completed', 'video.failed']

export const EndpointSheet = ({ present, onCreated, onClose }: EndpointSheetProps) => {
  const { sheet: texts, eventNotes } = useTexts(webhookTexts)
  const common = useTexts(commonTexts)
  const id = useId()
  const { data: types = [] } = useQuery(eventTypesQuery)
  const [name, setName] = useState(present?.name ?? '')
  const [url, setUrl] = useState(present?.url ?? 'https://')
  const [events, setEvents] = useState(present?.events ?? usualEvents)
  const [payload, setPayload] = useState(present?.payload ?? 'full')
  const [concurrency, setConcurrency] = useState(present === undefined ? '' : String(present.concurrency))
  const [isTried, setTried] = useState(false)
  const count = Number(concurrency)
  const isCountWrong =
    concurrency.trim() !== '' && !(Number.isInteger(count) && count >= minimum && count <= maximum)
  const isWrong = !isUrl(url) || events.length === 0 || isCountWrong
  const save = useMutation({
    mutationFn: async () => {
      const body = {
        ...{ name: name.trim(), url: url.trim(), events, payload },
        ...(concurrency.trim() !== '' && { concurrency: count }),
      }
      if (present !== undefined) {
        // A URL that is sent again would let a failing endpoint count as working.
        const { url: sent, ...others } = body
        return kinora.webhooks.update(present.id, sent === present.url ? others : body)
      }
      const { secret, ...endpoint } = await kinora.webhooks.create(body)
      onCreated?.(endpoint, secret)
      return endpoint
    },
    onSuccess: (endpoint) => {
      void queryClient.invalidateQueries({ queryKey: webhooksKey })
      if (present === undefined) return
      showToast(texts.saved(nameOf(endpoint)))
      onClose()
    },
  })
  const { error } = save
  const refused = isKinoraError(error) ? error : undefined
  const urlError =
    isTried && !isUrl(url) ? texts.urlProblem : refused?.param === 'url' ? refused.message : null
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    if (!isWrong && !save.isPending) save.mutate()
  }
  return (
    <Sheet
      title={present === undefined ? texts.create : texts.edit(nameOf(present))}
      isOpen
      onClose={onClose}
      isKept={save.isPending}
      footer={
        <>
          <Button onPress={onClose} isDisabled={save.isPending}>
            {common.cancel}
          </Button>
          <Button type="submit" form={id} variant="primary" isBusy={save.isPending}>
            {present === undefined ? texts.submit : texts.save}
          </Button>
        </>
      }
    >
      <form id={id} onSubmit={submit} className="stack" noValidate>
        <TextField
          label={texts.url}
          help={texts.urlHelp}
          type="url"
          value={url}
          onChange={setUrl}
          maxLength={webhookFields.url.maxLength}
          autoFocus
          isMono
          {...(urlError !== null && { error: urlError })}
        />
        <TextField
          label={texts.name}
          range={texts.optional}
          help={texts.nameHelp}
          value={name}
          onChange={setName}
          maxLength={webhookFields.name.maxLength}
        />
        <Checklist
          label={texts.events}
          range={texts.chosen(events.length, types.length)}
          options={types.map((type) => ({ value: type, label: type, note: eventNotes[type] }))}
          value={events}
          onChange={setEvents}
          {...(isTried && events.length === 0 && { error: texts.eventsProblem })}
        />
        <div>
          <Button size="small" onPress={() => setEvents(types)} isDisabled={events.length === types.length}>
            {texts.all}
          </Button>
        </div>
        <div className="stack small">
          <ChoiceField
            label={texts.payload}
            choices={webhookFields.payload.values.map((value) => ({ value, label: texts.payloads[value] }))}
            value={payload}
            onChange={setPayload}
          />
          <p className="muted small-text">{texts.payloadHelp[payload]}</p>
        </div>
        <TextField
          label={texts.concurrency}
          range={texts.range(formatNumber(minimum), formatNumber(maximum))}
          value={concurrency}
          onChange={setConcurrency}
          {...(isTried &&
            isCountWrong && {
              error: texts.concurrencyProblem(formatNumber(minimum), formatNumber(maximum)),
            })}
        />
        {save.isError && <ErrorPanel error={error} />}
      </form>
    </Sheet>
  )
}
