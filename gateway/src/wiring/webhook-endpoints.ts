/** The webhook endpoints and the delivery log of customers. */
import { operations } from '@kinora/contract/operations'

import { bindOperation, type ApiServer } from '../http/server/bind-operation.ts'
import { createWebhookEndpoint } from '../webhooks/endpoints/create-webhook-endpoint.ts'
import { deleteWebhookEndpoint } from '../webhooks/endpoints/delete-webhook-endpoint.ts'
import { getWebhookEndpoint } from '../webhooks/endpoints/get-webhook-endpoint.ts'
import { getWebhookKeys } from '../webhooks/endpoints/get-webhook-keys.ts'
import { listWebhookEndpoints } from '../webhooks/endpoints/list-webhook-endpoints.ts'
import { listWebhookEventTypes } from '../webhooks/endpoints/list-webhook-event-types.ts'
import { redeliverWebhookEndpoint } from '../webhooks/endpoints/redeliver-webhook-endpoint.ts'
import { rotateWebhookEndpointSecret } from '../webhooks/endpoints/rotate-webhook-endpoint-secret.ts'
import { testWebhookEndpoint } from '../webhooks/endpoints/test-webhook-endpoint.ts'
import { updateWebhookEndpoint } from '../webhooks/endpoints/update-webhook-endpoint.ts'
import { getWebhookDelivery } from '../webhooks/log/get-webhook-delivery.ts'
import { listWebhookDeliveries } from '../webhooks/log/list-webhook-deliveries.ts'
import { redeliverWebhookDelivery } from '../webhooks/log/redeliver-webhook-delivery.ts'
import type { ApiContext } from './api-context.ts'
import { createBindSelfService } from './bind-self-service.ts'
import { createWebhookPost, webhookSecretsOf } from './webhooks.ts'

/** From the end of an attempt until it is recorded, and for a wake-up that is lost. */
const attemptMarginMs = 10_000

export const bindWebhookEndpoints = (server: ApiServer, { config, postgres }: ApiContext): void => {
  const sealingSecrets = webhookSecretsOf(config)
  const { assertPermitted } = createWebhookPost(config)
  const endpoints = { postgres, sealingSecrets, assertPermitted }
  const bind = createBindSelfService(server, config)
  bind(operations.createWebhookEndpoint, createWebhookEndpoint(endpoints))
  bindOperation(server, operations.listWebhookEndpoints, listWebhookEndpoints(endpoints))
  bindOperation(server, operations.getWebhookEndpoint, getWebhookEndpoint(endpoints))
  bind(operations.updateWebhookEndpoint, updateWebhookEndpoint(endpoints))
  bind(operations.postWebhookEndpoint, updateWebhookEndpoint(endpoints))
  bind(operations.deleteWebhookEndpoint, deleteWebhookEndpoint(endpoints))
  bind(operations.rotateWebhookEndpointSecret, rotateWebhookEndpointSecret(endpoints))
  const attemptMs = config.WEBHOOK_TIMEOUT_SECONDS * 1000 + attemptMarginMs
  bind(operations.testWebhookEndpoint, testWebhookEndpoint({ ...endpoints, attemptMs }))
  bind(operations.redeliverWebhookEndpoint, redeliverWebhookEndpoint(endpoints))
  bindOperation(server, operations.listWebhookEventTypes, listWebhookEventTypes)
  bindOperation(server, operations.getWebhookKeys, getWebhookKeys({ sealingSecrets }))
  bindOperation(server, operations.listWebhookDeliveries, listWebhookDeliveries({ database: postgres }))
  bindOperation(server, operations.getWebhookDelivery, getWebhookDelivery({ database: postgres }))
  bind(operations.redeliverWebhookDelivery, redeliverWebhookDelivery({ postgres }))
}
