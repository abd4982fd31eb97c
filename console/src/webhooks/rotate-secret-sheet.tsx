/** Gives an endpoint a new secret. */
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'

import { rotateSecretFields } from '../generated/key-and-webhook-fields.ts'
import { commonTexts } from '../i18n/common.ts'
import { useTexts } from '../i18n/texts.ts'
import { queryClient } from '../queries.ts'
import { kinora } from '../service.ts'
import { Button } from '../ui/button.tsx'
import { ErrorPanel } from '../ui/feedback.tsx'
import { SelectField } from '../ui/field.tsx'
import { Sheet } from '../ui/sheet.tsx'
import { nameOf } from './endpoint-actions.ts'
import { webhookTexts } from './texts.ts'
import { webhooksKey, type WebhookEndpoint } from './webhook-data.ts'

const overlaps = { now: 0, hour: 3_600, day: 86_400, week: 7 * 86_400, month: 30 * 86_400 }
type Overlap = keyof typeof overlaps

interface RotateSecretSheetProps {
  endpoint: WebhookEndpoint
  onRotated: (endpoint: WebhookEndpoint, secret: string) => void
  onClose: () => void
}

export const RotateSecretSheet = ({ endpoint, onRotated, onClose }: RotateSecretSheetProps) => {
  const { rotate: texts } = useTexts(webhookTexts)
  const common = useTexts(commonTexts)
  const names = Object.keys(overlaps) as Overlap[]
  const { default: usual, maximum } = rotateSecretFields.overlap_seconds
  const [overlap, setOverlap] = useState<Overlap>(names.find((name) => overlaps[name] === usual) ?? 'now')
  const rotate = useMutation({
    mutationFn: () => kinora.webhooks.rotateSecret(endpoint.id, { overlap_seconds: overlaps[overlap] }),
    onSuccess: ({ secret, ...changed }) => {
      void queryClient.invalidateQueries({ queryKey: webhooksKey })
      onRotated(changed, secret)
    },
  })
  return (
    <Sheet
      title={texts.title(nameOf(endpoint))}
      isOpen
      onClose={onClose}
      isKept={rotate.isPending}
      footer={
        <>
          <Button onPress={onClose} isDisabled={rotate.isPending}>
            {common.cancel}
          </Button>
          <Button variant="primary" isBusy={rotate.isPending} onPress={() => rotate.mutate()}>
            {texts.submit}
          </Button>
        </>
      }
    >
      <p className="soft">{texts.intro}</p>
      <SelectField
        label={texts.overlap}
        options={names
          .filter((name) => overlaps[name] <= maximum)
          .map((name) => ({ value: name, label: texts.overlaps[name] }))}
        value={overlap}
        onChange={setOverlap}
      />
      {rotate.isError && <ErrorPanel error={rotate.error} />}
    </Sheet>
  )
}
