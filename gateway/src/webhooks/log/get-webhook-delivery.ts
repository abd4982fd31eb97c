import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { listAttempts } from './delivery-log-store.ts'
import { findOwnDelivery } from './find-own-delivery.ts'
import { presentAttempt, presentDelivery } from './present-delivery.ts'

/** A delivery that is sent again and again has many. */
const attemptsMax = 100

export const getWebhookDelivery =
  ({ database }: { database: Database }): Handler<typeof operations.getWebhookDelivery> =>
  async (call) => {
    const delivery = await findOwnDelivery(database, call)
    const attempts = await listAttempts(database, delivery, attemptsMax)
    return { body: { ...presentDelivery(delivery), attempts: attempts.map(presentAttempt) } }
  }
