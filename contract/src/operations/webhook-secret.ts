/** `/v1/webhook_secret`: the secret that signs deliveries to the URLs that creates name. */
import { Type, type Static } from 'typebox'

import { Nullable, ObjectType, Time } from '../fields.ts'
import { mebibyte } from '../limits.ts'
import { errorsOfBodies, type Operation } from '../operation.ts'
import { RotateSecretBody } from './webhook-fields.ts'

export const WebhookSecret = Type.Object({
  object: ObjectType('webhook_secret'),
  secret: Type.String({
    description: 'The secret, as libraries for Standard Webhooks take it: `whsec_` and base64.',
  }),
  previous_secret_expires_at: Nullable(
    Time(
      'Until when deliveries are also signed with the secret before the last rotation; null if they are not.',
    ),
  ),
})
export type WebhookSecret = Static<typeof WebhookSecret>

export const webhookSecretOperations = {
  getWebhookSecret: {
    id: 'getWebhookSecret',
    method: 'GET',
    path: '/v1/webhook_secret',
    summary: 'Get the webhook secret',
    description:
      "Returns the account's secret that signs deliveries to the `webhook_url` of a create. Webhook endpoints have separate secrets.",
    access: 'key',
    scopes: ['account'],
    limit: 'read',
    answer: { description: 'The secret.', schema: WebhookSecret },
    errors: ['conflict'],
  },
  rotateWebhookSecret: {
    id: 'rotateWebhookSecret',
    method: 'POST',
    path: '/v1/webhook_secret/rotate',
    summary: 'Rotate the webhook secret',
    description:
      'Replaces the secret that signs deliveries to the `webhook_url` of a create. During the overlap each delivery has two signatures, and receivers may verify either.',
    access: 'key',
    scopes: ['account'],
    limit: 'create',
    body: { form: null, json: [RotateSecretBody], sizeBytesMax: mebibyte },
    answer: { description: 'The new secret.', schema: WebhookSecret },
    errors: [...errorsOfBodies],
  },
} as const satisfies Record<string, Operation>
