/** The fields of webhook endpoints and deliveries, as this API and the `openai` SDKs show them. */
import { Type, type Static } from 'typebox'

import { Deleted, FirstId, listFields, Nullable, ObjectType, optionals, Time } from '../fields.ts'
import { eventTypeNames } from '../webhook-events.ts'

const EndpointId = Type.String({ description: 'Id of the endpoint.' })

const Url = Type.String({
  maxLength: 2_048,
  description: 'URL that receives the events: https, with the port 443 or 8443 and a public address.',
})
const Name = Type.String({ maxLength: 200, description: 'Name of the endpoint.' })
export const EventType = Type.String({ enum: [...eventTypeNames], description: 'Type of an event.' })
const Events = Type.Array(EventType, {
  minItems: 1,
  maxItems: 100,
  description: 'Types of the events that are sent.',
})
const Payload = Type.String({
  enum: ['full', 'thin'],
  description:
    '`full`: `data` of an event of a task is the task, as a read shows it at the time of the attempt. `thin`: it has only the `id` of the task. So is `data` of `character.created`. Other events have the same `data` in both.',
})
const Concurrency = Type.Integer({
  minimum: 1,
  maximum: 100,
  description: 'Maximum number of requests to the endpoint at once.',
})

export const WebhookEndpointBody = Type.Object({
  url: Url,
  events: Events,
  name: Type.Optional(Name),
  payload: Type.Optional(Payload),
  concurrency: Type.Optional(Concurrency),
})

export const WebhookEndpointChange = optionals({
  url: Url,
  events: Events,
  name: Name,
  payload: Payload,
  concurrency: Concurrency,
  disabled: Type.Boolean({
    description:
      'With `true`, nothing more is sent, and what is pending fails. With `false`, the endpoint is enabled and counts as working again.',
  }),
})

const endpointFields = {
  id: EndpointId,
  object: ObjectType('webhook_endpoint'),
  url: Url,
  name: Name,
  events: Events,
  payload: Payload,
  concurrency: Concurrency,
  state: Type.String({
    enum: ['enabled', 'failing', 'disabled'],
    description:
      '`enabled`: the last attempt succeeded, or there was none. `failing`: the last attempt failed. `disabled`: nothing is sent.',
  }),
  disabled_reason: Nullable(
    Type.String({
      enum: ['customer', 'gone', 'failing'],
      description:
        'Why the endpoint is disabled: by a request, because it responded with 410, or because every attempt failed for days. Null if it is not disabled.',
    }),
  ),
  failures: Type.Integer({ description: 'Number of attempts that have failed in a row.' }),
  failing_since: Nullable(Time('When the first of these attempts was made; null if the last one succeeded.')),
  secret_hint: Nullable(
    Type.String({
      description:
        'Last characters of the secret, to tell secrets apart; null if the secret cannot be decrypted and must be rotated.',
    }),
  ),
  previous_secret_expires_at: Nullable(
    Time('Until when the secret before the last rotation also signs; null if it does not.'),
  ),
  created_at: Time('When the endpoint was created.'),
}

const Secret = Type.String({
  description:
    'The secret that signs the deliveries, as `whsec_<base64>`. It is returned only once; the service stores it encrypted.',
})

export const WebhookEndpoint = Type.Object(endpointFields, { title: 'Webhook endpoint' })
export type WebhookEndpoint = Static<typeof WebhookEndpoint>

export const WebhookEndpointWithSecret = Type.Object(
  { ...endpointFields, secret: Secret },
  { title: 'Webhook endpoint with its secret' },
)

/** As the `openai` SDKs create and show endpoints. Their `data` has only the id. */
export const OpenAiWebhookEndpointBody = Type.Object({
  url: Url,
  event_types: Events,
  name: Type.Optional(Name),
})
export const OpenAiWebhookEndpointChange = optionals({ url: Url, event_types: Events, name: Name })

const title = 'Under /openai/v1'
const openAiFields = {
  id: EndpointId,
  object: ObjectType('webhook_endpoint'),
  url: Url,
  name: Name,
  event_types: Events,
  signing_secret_hint: endpointFields.secret_hint,
  created_at: endpointFields.created_at,
}
export const OpenAiWebhookEndpoint = Type.Object(openAiFields, { title })
export type OpenAiWebhookEndpoint = Static<typeof OpenAiWebhookEndpoint>
export const OpenAiWebhookEndpointWithSecret = Type.Object(
  { ...openAiFields, signing_secret: Secret },
  { title },
)

const listOf = <Schema extends typeof WebhookEndpoint | typeof OpenAiWebhookEndpoint>(item: Schema) =>
  Type.Object({ ...listFields(item, 'The endpoints on this page.'), first_id: FirstId })
export const WebhookEndpointList = Type.Union([listOf(WebhookEndpoint), listOf(OpenAiWebhookEndpoint)])

export const DeletedWebhookEndpoint = Type.Object({
  id: EndpointId,
  object: ObjectType('webhook_endpoint.deleted'),
  deleted: Deleted,
})

/** A day is enough to change the receivers. */
export const secretOverlapSeconds = 86_400

export const RotateSecretBody = optionals({
  overlap_seconds: Type.Integer({
    minimum: 0,
    maximum: 2_592_000,
    default: secretOverlapSeconds,
    description:
      'How long deliveries are also signed with the previous secret, in seconds. Secrets before it are no longer used.',
  }),
})
export const OpenAiRotateSecretBody = optionals({
  keep_old_secret_active_for_24_hours: Type.Boolean({
    default: false,
    description: 'Whether the previous secret signs as well for 24 hours.',
  }),
})

export const TestBody = optionals({ type: EventType })
export const OpenAiTestBody = Type.Object({ event_type: EventType })

export const OpenAiTestResult = Type.Object(
  {
    object: ObjectType('webhook_endpoint.test'),
    webhook_endpoint_id: EndpointId,
    event_type: EventType,
    status_code: Type.Integer({ description: 'Status of the response of the endpoint.' }),
    success: Type.Literal(true, { description: 'Always `true`: the endpoint has responded.' }),
  },
  { title },
)

export const deliveryStates = ['pending', 'delivered', 'failed', 'replaced'] as const
export const DeliveryState = Type.String({
  enum: [...deliveryStates],
  description:
    '`pending`: an attempt will follow. `delivered`: the endpoint responded with 2xx. `failed`: no further attempt is made. `replaced`: newer progress of the task was sent instead.',
})

const deliveryFields = {
  id: Type.String({ description: 'Id of the delivery.' }),
  object: ObjectType('webhook_delivery'),
  endpoint_id: Nullable(
    Type.String({ description: 'Id of the endpoint; null if the create of the task named the URL.' }),
  ),
  url: Nullable(
    Type.String({ description: 'URL that receives the event; null if the endpoint was deleted.' }),
  ),
  event_id: Type.String({
    description: 'Id of the event, the header `webhook-id`. It is the same in every attempt.',
  }),
  type: EventType,
  object_id: Type.String({ description: 'Id of the task or other object that the event is about.' }),
  state: DeliveryState,
  attempt_count: Type.Integer({ description: 'Number of attempts so far.' }),
  next_attempt_at: Nullable(
    Time('When the next attempt is due; null if none follows. It is later while the endpoint is failing.'),
  ),
  created_at: Time('When the event occurred.'),
  ended_at: Nullable(Time('When the delivery succeeded or was given up; null while it is pending.')),
}

export const WebhookDelivery = Type.Object(deliveryFields, { title: 'Webhook delivery' })
export type WebhookDelivery = Static<typeof WebhookDelivery>

export const WebhookDeliveryWithAttempts = Type.Object({
  ...deliveryFields,
  attempts: Type.Array(
    Type.Object({
      attempt: Type.Integer({ description: 'Number of the attempt, from 1.' }),
      started_at: Time('When the attempt began.'),
      duration_ms: Type.Integer({ description: 'Duration of the attempt in milliseconds.' }),
      status: Nullable(Type.Integer({ description: 'Status of the response; null if there was none.' })),
      error: Nullable(Type.String({ description: 'Why there was no response; null if there was one.' })),
      response: Nullable(Type.String({ description: 'The first 1,024 bytes of the response.' })),
    }),
    { description: 'The latest 100 attempts, oldest first.' },
  ),
})
