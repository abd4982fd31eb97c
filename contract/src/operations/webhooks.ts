import { Type } from 'typebox'

import type { Operation } from '../operation.ts'

const mebibyte = 1_048_576

/** What providers may do here; no customer ever does. They are told the address with each job. */
export const webhookOperations = {
  receiveWebhook: {
    id: 'receiveWebhook',
    method: 'POST',
    path: '/webhooks/{provider}/{id}',
    summary: 'Deliver a webhook about a job',
    access: 'link',
    parameters: {
      path: {
        provider: Type.String({ description: "The provider's name." }),
        id: Type.String({ description: "The task's id." }),
      },
      optionalQuery: {
        key: Type.String({ description: 'As in the address that was told: which secret it is signed with.' }),
        signature: Type.String(),
        note: Type.String({ description: 'What is needed to read the news, and does not come with them.' }),
      },
    },
    body: { form: null, json: null, sizeBytesMax: mebibyte, bytes: true },
    answer: { description: 'Webhook received.', schema: Type.Object({ received: Type.Boolean() }) },
    errors: [
      'resource_not_found',
      'invalid_signature',
      'invalid_request',
      'request_too_large',
      'rate_limit_exceeded',
    ],
  },
} as const satisfies Record<string, Operation>
