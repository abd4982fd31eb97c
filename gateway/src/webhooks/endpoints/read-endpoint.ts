/** Reads the settings of an endpoint from a body, in both dialects. */
import {
  OpenAiWebhookEndpointBody,
  OpenAiWebhookEndpointChange,
  WebhookEndpointBody,
  WebhookEndpointChange,
} from '@kinora/contract/operations/webhook-fields'

import type { Call } from '../../http/call.ts'
import type { EndpointSettings } from './endpoint-store.ts'

/** A text of the contract's enumeration. */
const payloadOf = (payload: string): EndpointSettings['payload'] => (payload === 'thin' ? 'thin' : 'full')

const concurrencyDefault = 10

type Reading = Pick<Call, 'isUnderOpenAi' | 'read'>

/** Endpoints that the openai SDKs create receive the payload that these SDKs declare. */
export const readNewEndpoint = ({ isUnderOpenAi, read }: Reading): EndpointSettings => {
  if (isUnderOpenAi) {
    const { url, event_types: events, name = '' } = read(OpenAiWebhookEndpointBody)
    return { url, name, events: [...new Set(events)], payload: 'thin', concurrency: concurrencyDefault }
  }
  const {
    url,
    events,
    name = '',
    payload = 'full',
    concurrency = concurrencyDefault,
  } = read(WebhookEndpointBody)
  return { url, name, events: [...new Set(events)], payload: payloadOf(payload), concurrency }
}

/** What a body changes. */
export const readEndpointChange = (
  { isUnderOpenAi, read }: Reading,
  present: EndpointSettings,
): { settings: EndpointSettings; isDisabled: boolean | undefined } => {
  if (isUnderOpenAi) {
    const {
      url = present.url,
      event_types: events = present.events,
      name = present.name,
    } = read(OpenAiWebhookEndpointChange)
    return { settings: { ...present, url, name, events: [...new Set(events)] }, isDisabled: undefined }
  }
  const given = read(WebhookEndpointChange)
  const { url = present.url, events = present.events, name = present.name } = given
  const { payload = present.payload, concurrency = present.concurrency } = given
  return {
    settings: { url, name, events: [...new Set(events)], payload: payloadOf(payload), concurrency },
    isDisabled: given.disabled,
  }
}
