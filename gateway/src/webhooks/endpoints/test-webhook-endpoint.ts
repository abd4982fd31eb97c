import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'

import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'
import { OpenAiTestBody, TestBody } from '@kinora/contract/operations/webhook-fields'
import { eventTypeNames } from '@kinora/contract/webhook-events'

import type { SelfServiceHandler } from '../../account/self-service-call.ts'
import { notFound } from '../../admin/given-id.ts'
import type { Call } from '../../http/call.ts'
import { cellDigits } from '../../platform/ids/cell.ts'
import type { Database } from '../../platform/postgres.ts'
import { dayOfDelivery } from '../log/delivery-id.ts'
import {
  announceDeliveries,
  findDelivery,
  listAttempts,
  type AttemptRow,
  type DeliveryRow,
} from '../log/delivery-log-store.ts'
import { deliveryResource } from '../log/find-own-delivery.ts'
import { presentDelivery } from '../log/present-delivery.ts'
import { addTestDelivery } from './endpoint-store.ts'
import { buildExample } from './example-object.ts'
import { assertEnabled, lockOwnEndpoint, type EndpointDependencies } from './manage-endpoints.ts'

const eventIdBytes = 16
const createEventId = () =>
  `evt_${cellDigits}${randomBytes(eventIdBytes).toString('hex').slice(cellDigits.length)}`

/** How often the log is read while the caller waits for the first attempt: less and less. */
const readAfterMs = { first: 100, max: 1_000, factor: 1.5 }

const findAdded = async (database: Database, accountId: string, id: string): Promise<DeliveryRow> => {
  const found = await findDelivery(database, accountId, dayOfDelivery(id) ?? '', id)
  if (found === undefined) throw notFound(deliveryResource)
  return found
}

/** The first attempt of a delivery, which a worker makes; undefined if there is none in time. */
const waitForAttempt = async (
  database: Database,
  delivery: DeliveryRow,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<AttemptRow | undefined> => {
  const startedMs = performance.now()
  for (let afterMs = readAfterMs.first; ; afterMs = Math.min(afterMs * readAfterMs.factor, readAfterMs.max)) {
    const [attempt] = await listAttempts(database, delivery, 1)
    if (attempt !== undefined || performance.now() - startedMs > timeoutMs) return attempt
    await pause(afterMs, undefined, { signal }).catch(() => {
      if (signal.reason instanceof ApiError) throw signal.reason
      throw new ApiError('service_unavailable')
    })
  }
}

const readType = ({ isUnderOpenAi, read }: Pick<Call, 'isUnderOpenAi' | 'read'>) => {
  const given = isUnderOpenAi ? read(OpenAiTestBody).event_type : read(TestBody).type
  return eventTypeNames.find((name) => name === given)
}

export const testWebhookEndpoint =
  ({
    postgres,
    attemptMs,
  }: EndpointDependencies & {
    /** How long a first attempt may take until it is recorded. */
    attemptMs: number
  }): SelfServiceHandler<typeof operations.testWebhookEndpoint> =>
  async (call) => {
    const { accountId } = call.caller
    const given = readType(call)
    const delivery = await postgres.transaction(async (database) => {
      const endpoint = await lockOwnEndpoint(database, call)
      assertEnabled(endpoint)
      const type = given ?? eventTypeNames.find((name) => endpoint.events.includes(name)) ?? 'video.completed'
      const eventId = createEventId()
      const event = { eventId, type, ...buildExample(type, endpoint.payload) }
      const added = await findAdded(database, accountId, await addTestDelivery(database, endpoint, event))
      await announceDeliveries(database, endpoint.id)
      await call.audit(database, {
        action: 'testWebhookEndpoint',
        target: endpoint.id,
        after: { type, delivery_id: added.id },
      })
      return added
    })
    if (!call.isUnderOpenAi) return { body: presentDelivery(delivery) }
    const attempt = await waitForAttempt(postgres, delivery, attemptMs, call.waitSignal())
    if (attempt === undefined) {
      throw new ApiError('service_unavailable', {
        message: `The test event was not sent yet. Read the delivery ${delivery.id} later.`,
      })
    }
    if (attempt.status === null) {
      throw new ApiError('invalid_request', {
        message: `The endpoint did not respond: ${attempt.error ?? 'no response'}. The event is sent again later.`,
      })
    }
    return {
      body: {
        object: 'webhook_endpoint.test',
        webhook_endpoint_id: call.path.id,
        event_type: delivery.type,
        status_code: attempt.status,
        success: true,
      },
    }
  }
