import type { operations } from '@kinora/contract/operations'
import { RedeliverBody } from '@kinora/contract/operations/webhook-endpoints'

import type { SelfServiceHandler } from '../../account/self-service-call.ts'
import { timeOfSeconds } from '../../admin/unix-time.ts'
import { announceDeliveries } from '../log/delivery-log-store.ts'
import { redeliverFailed } from './endpoint-store.ts'
import { assertEnabled, lockOwnEndpoint, type EndpointDependencies } from './manage-endpoints.ts'

/** Keeps the statement short. */
const deliveriesMax = 10_000

export const redeliverWebhookEndpoint =
  ({ postgres }: EndpointDependencies): SelfServiceHandler<typeof operations.redeliverWebhookEndpoint> =>
  async (call) => {
    const { since } = call.read(RedeliverBody)
    const count = await postgres.transaction(async (database) => {
      const endpoint = await lockOwnEndpoint(database, call)
      assertEnabled(endpoint)
      const found = await redeliverFailed(database, endpoint, timeOfSeconds(since), deliveriesMax)
      if (found > 0) await announceDeliveries(database, endpoint.id)
      await call.audit(database, {
        action: 'redeliverWebhookEndpoint',
        target: endpoint.id,
        after: { since, count: found },
      })
      return found
    })
    return {
      body: { object: 'webhook_endpoint.redelivery', count, has_more: count === deliveriesMax },
    }
  }
