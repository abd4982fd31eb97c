import type { OpenAiWebhookEndpoint, WebhookEndpoint } from '@kinora/contract/operations/webhook-fields'

import { secondsOf, secondsOrNull } from '../../admin/unix-time.ts'
import type { Call } from '../../http/call.ts'
import { openSecret } from '../../platform/sealed-secret.ts'
import type { Secret } from '../../platform/secret.ts'
import { webhookSecretOwner } from '../signing/webhook-secret.ts'
import type { EndpointRow } from './endpoint-store.ts'

const hintCharacters = 4

/** The end of a secret, without the padding that all have. */
const hintOf = ({ accountId, secret }: EndpointRow, sealingSecrets: Secret[]): string | null => {
  const opened = openSecret(sealingSecrets, webhookSecretOwner(accountId), secret)
  return opened === undefined ? null : `…${opened.reveal().replace(/=+$/, '').slice(-hintCharacters)}`
}

const stateOf = ({ isDisabled, failures }: EndpointRow) =>
  isDisabled ? 'disabled' : failures > 0 ? 'failing' : 'enabled'

export const presentEndpoint = (endpoint: EndpointRow, sealingSecrets: Secret[]): WebhookEndpoint => ({
  id: endpoint.id,
  object: 'webhook_endpoint',
  url: endpoint.url,
  name: endpoint.name,
  events: endpoint.events,
  payload: endpoint.payload,
  concurrency: endpoint.concurrency,
  state: stateOf(endpoint),
  disabled_reason: endpoint.disabledReason,
  failures: endpoint.failures,
  failing_since: secondsOrNull(endpoint.failingSince),
  secret_hint: hintOf(endpoint, sealingSecrets),
  previous_secret_expires_at: secondsOrNull(endpoint.previousExpiresAt),
  created_at: secondsOf(endpoint.createdAt),
})

export const presentOpenAiEndpoint = (
  endpoint: EndpointRow,
  sealingSecrets: Secret[],
): OpenAiWebhookEndpoint => ({
  id: endpoint.id,
  object: 'webhook_endpoint',
  url: endpoint.url,
  name: endpoint.name,
  event_types: endpoint.events,
  signing_secret_hint: hintOf(endpoint, sealingSecrets),
  created_at: secondsOf(endpoint.createdAt),
})

/** In the dialect of the call. */
export const presentFor = (
  { isUnderOpenAi }: Pick<Call, 'isUnderOpenAi'>,
  endpoint: EndpointRow,
  sealingSecrets: Secret[],
): WebhookEndpoint | OpenAiWebhookEndpoint =>
  (isUnderOpenAi ? presentOpenAiEndpoint : presentEndpoint)(endpoint, sealingSecrets)

export const presentWithSecret = (
  { isUnderOpenAi }: Pick<Call, 'isUnderOpenAi'>,
  endpoint: EndpointRow,
  sealingSecrets: Secret[],
  secret: string,
) =>
  isUnderOpenAi
    ? { ...presentOpenAiEndpoint(endpoint, sealingSecrets), signing_secret: secret }
    : { ...presentEndpoint(endpoint, sealingSecrets), secret }
