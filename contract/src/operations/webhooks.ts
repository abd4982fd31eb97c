/** Webhooks that providers send to the service. Each job is submitted with the URL to call. */
import { Type } from 'typebox'

import { mebibyte } from '../limits.ts'
import type { Operation } from '../operation.ts'

export const webhookOperations = {
  receiveWebhook: {
    id: 'receiveWebhook',
    method: 'POST',
    path: '/webhooks/{provider}/{id}',
    summary: 'Receive a webhook about a job',
    description:
      "Receives a provider's notification about one of its jobs. The URL is signed, and the provider must sign the delivery too.",
    access: 'link',
    parameters: {
      path: {
        provider: Type.String({ description: 'Name of the provider.' }),
        id: Type.String({ description: 'Id of the task.' }),
      },
      optionalQuery: {
        key: Type.String({ description: 'Id of the secret that signed the URL.' }),
        signature: Type.String({ description: 'Signature of the URL.' }),
        note: Type.String({
          description:
            'Data that the service needs to read the delivery and that the delivery does not contain.',
        }),
      },
    },
    body: { form: null, json: null, sizeBytesMax: mebibyte, bytes: true },
    answer: {
      description: 'Webhook received.',
      schema: Type.Object({ received: Type.Boolean({ description: 'Always `true`.' }) }),
    },
    errors: [
      'resource_not_found',
      'invalid_signature',
      'invalid_request',
      'request_too_large',
      'rate_limit_exceeded',
    ],
  },
} as const satisfies Record<string, Operation>
