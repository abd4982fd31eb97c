import type { WebhookDelivery } from '@kinora/contract/operations/webhook-fields'

import { secondsOf, secondsOrNull } from '../../admin/unix-time.ts'
import type { AttemptRow, DeliveryRow } from './delivery-log-store.ts'

export const presentDelivery = (delivery: DeliveryRow): WebhookDelivery => ({
  id: delivery.id,
  object: 'webhook_delivery',
  endpoint_id: delivery.endpointId,
  url: delivery.url,
  event_id: delivery.eventId,
  type: delivery.type,
  object_id: delivery.objectId,
  state: delivery.state,
  attempt_count: delivery.attempts,
  next_attempt_at: delivery.state === 'pending' ? secondsOf(delivery.nextAttemptAt) : null,
  created_at: secondsOf(delivery.occurredAt),
  ended_at: secondsOrNull(delivery.endedAt),
})

export const presentAttempt = (attempt: AttemptRow) => ({
  attempt: attempt.attempt,
  started_at: secondsOf(attempt.startedAt),
  duration_ms: attempt.durationMs,
  status: attempt.status,
  error: attempt.error,
  response: attempt.response,
})
