/** The parameters by which a create names a webhook. */
import { Type } from 'typebox'

import { ReadByEndpoint } from './fields.ts'
import { taskEventTypeNames, type EventTypeName } from './webhook-events.ts'

/** The objects whose creates can name a webhook, as the types of their events begin. */
export type WebhookObject = 'video' | 'transcription_task'

const webhookUrlCharactersMax = 2_048

/** The types of events that a create can name. */
export const webhookEventsOf = (object: WebhookObject): EventTypeName[] =>
  taskEventTypeNames.filter((name) => name.startsWith(`${object}.`))

/** Those of a create that names none: the ends. */
export const defaultWebhookEvents = (object: WebhookObject): EventTypeName[] =>
  webhookEventsOf(object).filter((name) => /\.(completed|failed)$/.test(name))

export const webhookParameters = (object: WebhookObject) => ({
  webhook_url: Type.Optional(
    Type.String({
      maxLength: webhookUrlCharactersMax,
      description:
        'URL to which the events of this task are sent: public, with https and port 443 or 8443. The secret of `GET /v1/webhook_secret` signs them.',
    }),
  ),
  webhook_events: Type.Optional(
    ReadByEndpoint({
      type: 'array',
      items: { type: 'string', enum: webhookEventsOf(object) },
      minItems: 1,
      description: `Types of the events to send. Default: ${defaultWebhookEvents(object)
        .map((name) => `\`${name}\``)
        .join(
          ' and ',
        )}. In a form: separated by commas, or one field \`webhook_events[]\` for each. Needs \`webhook_url\`.`,
    }),
  ),
})
