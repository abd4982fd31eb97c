/** `/v1/webhook_deliveries`: what was sent to the webhook endpoints of the account, and what they responded. */
import { Type } from 'typebox'

import { Page, pageQuery, ResourceId } from '../fields.ts'
import type { Operation } from '../operation.ts'
import { DeliveryState, EventType, WebhookDelivery, WebhookDeliveryWithAttempts } from './webhook-fields.ts'

const deliveryId = ResourceId('delivery')

export const webhookDeliveryOperations = {
  listWebhookDeliveries: {
    id: 'listWebhookDeliveries',
    method: 'GET',
    path: '/v1/webhook_deliveries',
    summary: 'List webhook deliveries',
    description: 'Lists the webhook deliveries of the account, newest first.',
    access: 'key',
    scopes: ['account'],
    limit: 'read',
    parameters: {
      optionalQuery: {
        ...pageQuery,
        endpoint_id: Type.String({ description: 'Only deliveries to this endpoint.' }),
        state: DeliveryState,
        type: EventType,
        object_id: Type.String({ maxLength: 200, description: 'Only deliveries of events of this object.' }),
      },
    },
    answer: { description: 'A page of deliveries.', schema: Page(WebhookDelivery) },
    errors: ['invalid_parameter'],
  },
  getWebhookDelivery: {
    id: 'getWebhookDelivery',
    method: 'GET',
    path: '/v1/webhook_deliveries/{id}',
    summary: 'Get a webhook delivery',
    description: 'Returns a webhook delivery with its attempts.',
    access: 'key',
    scopes: ['account'],
    limit: 'read',
    parameters: { path: deliveryId },
    answer: { description: 'The delivery and its attempts.', schema: WebhookDeliveryWithAttempts },
    errors: ['resource_not_found'],
  },
  redeliverWebhookDelivery: {
    id: 'redeliverWebhookDelivery',
    method: 'POST',
    path: '/v1/webhook_deliveries/{id}/redeliver',
    summary: 'Deliver an event again',
    description:
      'Sends the event again now, with the same id, and retries as for a new delivery. A delivery that newer progress has replaced cannot be sent again.',
    access: 'key',
    scopes: ['account'],
    limit: 'create',
    parameters: { path: deliveryId },
    answer: { description: 'The delivery.', schema: WebhookDelivery },
    errors: ['resource_not_found', 'conflict'],
  },
} as const satisfies Record<string, Operation>
