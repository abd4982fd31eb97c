/** The sheets and questions of the actions on endpoints. One is open at a time. */
import { useMutation } from '@tanstack/react-query'
import { useState, type ReactNode } from 'react'

import { useReasons } from '../errors/use-reasons.ts'
import { useTexts } from '../i18n/texts.ts'
import { queryClient } from '../queries.ts'
import { kinora } from '../service.ts'
import { SecretSheet } from '../ui/secret/secret-sheet.tsx'
import { Confirm } from '../ui/sheet.tsx'
import { showToast } from '../ui/toast.tsx'
import { nameOf, type EndpointAction } from './endpoint-actions.ts'
import { EndpointSheet } from './endpoint-sheet.tsx'
import { RedeliverSheet } from './redeliver-sheet.tsx'
import { RotateSecretSheet } from './rotate-secret-sheet.tsx'
import { TestSheet } from './test-sheet.tsx'
import { webhookTexts } from './texts.ts'
import { verifySnippets } from './verify-snippets.ts'
import { webhooksKey, type WebhookEndpoint } from './webhook-data.ts'

export type StartAction = (action: EndpointAction, endpoint: WebhookEndpoint) => void

interface Settings {
  isCreating?: boolean
  onCreateEnd?: () => void
  onRemoved?: () => void
}

interface Issued {
  endpoint: WebhookEndpoint
  secret: string
  isRotated: boolean
}

export const useEndpointDialogs = ({
  isCreating = false,
  onCreateEnd,
  onRemoved,
}: Settings): { start: StartAction; dialogs: ReactNode } => {
  const texts = useTexts(webhookTexts)
  const reasons = useReasons()
  const [current, setCurrent] = useState<{ action: EndpointAction; endpoint: WebhookEndpoint }>()
  const [issued, setIssued] = useState<Issued>()
  const close = () => setCurrent(undefined)
  const enable = async (endpoint: WebhookEndpoint) => {
    try {
      await kinora.webhooks.update(endpoint.id, { disabled: false })
      showToast(texts.enabled(nameOf(endpoint)))
      await queryClient.invalidateQueries({ queryKey: webhooksKey })
    } catch (error) {
      showToast(reasons.ofError(error).message)
    }
  }
  const start: StartAction = (action, endpoint) => {
    if (action === 'enable') void enable(endpoint)
    else setCurrent({ action, endpoint })
  }
  const issue = (isRotated: boolean) => (endpoint: WebhookEndpoint, secret: string) => {
    setIssued({ endpoint, secret, isRotated })
    close()
    if (!isRotated) onCreateEnd?.()
  }
  const choose = () => {
    if (issued !== undefined) {
      const name = nameOf(issued.endpoint)
      return (
        <SecretSheet
          title={issued.isRotated ? texts.secret.rotated(name) : texts.secret.title(name)}
          secret={issued.secret}
          examples={[{ name: '.env', text: `WEBHOOK_SECRET=${issued.secret}` }, ...verifySnippets]}
          onClose={() => setIssued(undefined)}
        />
      )
    }
    if (isCreating) return <EndpointSheet onCreated={issue(false)} onClose={() => onCreateEnd?.()} />
    if (current === undefined) return null
    const { action, endpoint } = current
    if (action === 'edit') return <EndpointSheet present={endpoint} onClose={close} />
    if (action === 'test') return <TestSheet endpoint={endpoint} onClose={close} />
    if (action === 'redeliver') return <RedeliverSheet endpoint={endpoint} onClose={close} />
    if (action === 'rotate')
      return <RotateSecretSheet endpoint={endpoint} onRotated={issue(true)} onClose={close} />
    if (action === 'enable') return null
    const onDone = () => {
      close()
      if (action === 'remove') onRemoved?.()
    }
    return <EndpointConfirm endpoint={endpoint} action={action} onDone={onDone} onClose={close} />
  }
  return { start, dialogs: choose() }
}

interface EndpointConfirmProps {
  endpoint: WebhookEndpoint
  action: 'disable' | 'remove'
  onDone: () => void
  onClose: () => void
}

const EndpointConfirm = ({ endpoint, action, onDone, onClose }: EndpointConfirmProps) => {
  const texts = useTexts(webhookTexts)[action]
  const name = nameOf(endpoint)
  const change = useMutation({
    mutationFn: async () => {
      if (action === 'remove') await kinora.webhooks.delete(endpoint.id)
      else await kinora.webhooks.update(endpoint.id, { disabled: true })
    },
    onSuccess: () => {
      showToast(texts.done(name))
      onDone()
      void queryClient.invalidateQueries({ queryKey: webhooksKey })
    },
  })
  return (
    <Confirm
      question={texts.question(name)}
      action={texts.action(name)}
      isOpen
      isBusy={change.isPending}
      error={change.error}
      onConfirm={() => change.mutate()}
      onClose={onClose}
    >
      <p className="soft">{texts.detail}</p>
    </Confirm>
  )
}
