/** `/v1/webhook_endpoints`: the webhook endpoints of the account, managed by the customer. */
import { Type } from 'typebox'

import { listQuery, ObjectType, ResourceId, Time } from '../fields.ts'
import { mebibyte } from '../limits.ts'
import { errorsOfBodies, type Operation } from '../operation.ts'
import {
  DeletedWebhookEndpoint,
  OpenAiRotateSecretBody,
  OpenAiTestBody,
  OpenAiTestResult,
  OpenAiWebhookEndpoint,
  OpenAiWebhookEndpointBody,
  OpenAiWebhookEndpointChange,
  OpenAiWebhookEndpointWithSecret,
  EventType,
  RotateSecretBody,
  TestBody,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookEndpointBody,
  WebhookEndpointChange,
  WebhookEndpointList,
  WebhookEndpointWithSecret,
} from './webhook-fields.ts'

const endpointId = ResourceId('endpoint')
const withSecret = Type.Union([WebhookEndpointWithSecret, OpenAiWebhookEndpointWithSecret])

export const RedeliverBody = Type.Object({
  since: Time('Deliver again what has failed since this time.'),
})

const update = {
  access: 'key',
  scopes: ['account'],
  limit: 'read',
  parameters: { path: endpointId },
  body: {
    form: null,
    json: [WebhookEndpointChange, OpenAiWebhookEndpointChange],
    sizeBytesMax: mebibyte,
  },
  answer: {
    description: 'The updated endpoint.',
    schema: Type.Union([WebhookEndpoint, OpenAiWebhookEndpoint]),
  },
  errors: [...errorsOfBodies, 'resource_not_found'],
} as const satisfies Partial<Operation>

export const webhookEndpointOperations = {
  createWebhookEndpoint: {
    id: 'createWebhookEndpoint',
    method: 'POST',
    path: '/v1/webhook_endpoints',
    summary: 'Create a webhook endpoint',
    description:
      'Creates an endpoint that receives the events of the account. Store the secret, which signs the deliveries: it is returned only in this response. An account has at most 20 endpoints.',
    access: 'key',
    scopes: ['account'],
    limit: 'create',
    body: { form: null, json: [WebhookEndpointBody, OpenAiWebhookEndpointBody], sizeBytesMax: mebibyte },
    answer: { description: 'The created endpoint and its secret.', schema: withSecret },
    errors: [...errorsOfBodies, 'conflict'],
  },
  listWebhookEndpoints: {
    id: 'listWebhookEndpoints',
    method: 'GET',
    path: '/v1/webhook_endpoints',
    summary: 'List webhook endpoints',
    description: 'Lists the webhook endpoints of the account, newest first.',
    access: 'key',
    scopes: ['account'],
    limit: 'read',
    parameters: { optionalQuery: { limit: listQuery.limit, after: listQuery.after } },
    answer: { description: 'A page of endpoints.', schema: WebhookEndpointList },
    errors: ['invalid_parameter'],
  },
  getWebhookEndpoint: {
    id: 'getWebhookEndpoint',
    method: 'GET',
    path: '/v1/webhook_endpoints/{id}',
    summary: 'Get a webhook endpoint',
    description: 'Returns a webhook endpoint of the account without its secret.',
    access: 'key',
    scopes: ['account'],
    limit: 'read',
    parameters: { path: endpointId },
    answer: {
      description: 'The endpoint.',
      schema: Type.Union([WebhookEndpoint, OpenAiWebhookEndpoint]),
    },
    errors: ['resource_not_found'],
  },
  updateWebhookEndpoint: {
    id: 'updateWebhookEndpoint',
    method: 'PATCH',
    path: '/v1/webhook_endpoints/{id}',
    summary: 'Update a webhook endpoint',
    description:
      'Changes the fields that are present in the body. Use `disabled` to disable or enable the endpoint. A new URL, too, lets a failing endpoint count as working again.',
    ...update,
  },
  postWebhookEndpoint: {
    id: 'postWebhookEndpoint',
    method: 'POST',
    path: '/v1/webhook_endpoints/{id}',
    summary: 'Update a webhook endpoint, as the openai SDKs do',
    description: 'The same as `PATCH /v1/webhook_endpoints/{id}`.',
    ...update,
  },
  deleteWebhookEndpoint: {
    id: 'deleteWebhookEndpoint',
    method: 'DELETE',
    path: '/v1/webhook_endpoints/{id}',
    summary: 'Delete a webhook endpoint',
    description:
      'Deletes a webhook endpoint of the account. What is pending fails. The delivery log remains.',
    access: 'key',
    scopes: ['account'],
    limit: 'read',
    parameters: { path: endpointId },
    answer: { description: 'The endpoint was deleted.', schema: DeletedWebhookEndpoint },
    errors: ['resource_not_found'],
  },
  rotateWebhookEndpointSecret: {
    id: 'rotateWebhookEndpointSecret',
    method: 'POST',
    path: '/v1/webhook_endpoints/{id}/rotate_secret',
    summary: 'Rotate the secret of a webhook endpoint',
    description:
      'Gives an endpoint a new secret. Until `overlap_seconds` have passed, each delivery has a signature with both secrets. Store the new secret: it is returned only in this response.',
    access: 'key',
    scopes: ['account'],
    limit: 'create',
    parameters: { path: endpointId },
    body: { form: null, json: [RotateSecretBody, OpenAiRotateSecretBody], sizeBytesMax: mebibyte },
    answer: { description: 'The endpoint and its new secret.', schema: withSecret },
    errors: [...errorsOfBodies, 'resource_not_found'],
  },
  testWebhookEndpoint: {
    id: 'testWebhookEndpoint',
    method: 'POST',
    path: '/v1/webhook_endpoints/{id}/test',
    summary: 'Send a test event to a webhook endpoint',
    description:
      'Creates a delivery of an example event, which has `"test": true` in its `data`. Without `type` it is of a type that the endpoint receives. Read the delivery to see the response of the endpoint. Under `/openai/v1`, the response has the status of the first attempt.',
    access: 'key',
    scopes: ['account'],
    limit: 'create',
    parameters: { path: endpointId },
    body: { form: null, json: [TestBody, OpenAiTestBody], sizeBytesMax: mebibyte },
    answer: {
      description: 'The delivery of the test event.',
      schema: Type.Union([WebhookDelivery, OpenAiTestResult]),
    },
    errors: [...errorsOfBodies, 'resource_not_found', 'conflict'],
  },
  redeliverWebhookEndpoint: {
    id: 'redeliverWebhookEndpoint',
    method: 'POST',
    path: '/v1/webhook_endpoints/{id}/redeliver',
    summary: 'Deliver again what has failed',
    description:
      'Makes the deliveries of an endpoint pending again that have failed since a time, at most 10,000 per request.',
    access: 'key',
    scopes: ['account'],
    limit: 'create',
    parameters: { path: endpointId },
    body: { form: null, json: [RedeliverBody], sizeBytesMax: mebibyte },
    answer: {
      description: 'How many deliveries are pending again.',
      schema: Type.Object({
        object: ObjectType('webhook_endpoint.redelivery'),
        count: Type.Integer({ description: 'Number of deliveries that are pending again.' }),
        has_more: Type.Boolean({
          description: 'Whether more may have failed since then. Send the request again.',
        }),
      }),
    },
    errors: [...errorsOfBodies, 'resource_not_found', 'conflict'],
  },
  listWebhookEventTypes: {
    id: 'listWebhookEventTypes',
    method: 'GET',
    path: '/v1/webhook_event_types',
    summary: 'List the types of events',
    description: 'Lists the types of events that an endpoint can receive.',
    access: 'key',
    scopes: ['account'],
    limit: 'read',
    answer: {
      description: 'The types of events.',
      schema: Type.Object({
        object: ObjectType('list'),
        data: Type.Array(EventType, { description: 'The types of events.' }),
      }),
    },
    errors: [],
  },
  getWebhookKeys: {
    id: 'getWebhookKeys',
    method: 'GET',
    path: '/.well-known/webhook-keys.json',
    summary: 'Get the public keys that verify webhooks',
    description:
      'Returns the Ed25519 keys of this instance. Each delivery has a `v1a` signature with each of them, which receivers can verify without a secret.',
    access: 'none',
    answer: {
      description: 'The public keys; any of them may verify.',
      schema: Type.Object({
        keys: Type.Array(
          Type.Object({
            id: Type.String({ description: 'Id of the key.' }),
            algorithm: Type.String({ enum: ['ed25519'], description: 'Always `ed25519`.' }),
            public_key: Type.String({ description: 'The public key as `whpk_<base64>`.' }),
          }),
          { description: 'The public keys; any of them may verify.' },
        ),
      }),
    },
    errors: [],
  },
} as const satisfies Record<string, Operation>
