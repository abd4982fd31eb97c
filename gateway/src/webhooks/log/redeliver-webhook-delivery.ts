import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import { lockCallingKey } from '../../account/keys/manage-keys.ts'
import type { SelfServiceHandler } from '../../account/self-service-call.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { attemptsMax } from '../deliveries/retry-schedule.ts'
import { announceDeliveries, findReceiver, redeliver } from './delivery-log-store.ts'
import { findOwnDelivery } from './find-own-delivery.ts'
import { presentDelivery } from './present-delivery.ts'

export const redeliverWebhookDelivery =
  ({ postgres }: { postgres: Postgres }): SelfServiceHandler<typeof operations.redeliverWebhookDelivery> =>
  async (call) => {
    const delivery = await postgres.transaction(async (database) => {
      await lockCallingKey(database, call.caller)
      const present = await findOwnDelivery(database, call)
      const receiver = await findReceiver(database, present)
      if (receiver === undefined || receiver.isDisabled === null) {
        throw new ApiError('conflict', {
          message: 'The endpoint of this delivery was deleted. Read the object of the event instead.',
        })
      }
      const { endpointId, isDisabled } = receiver
      if (isDisabled) {
        throw new ApiError('conflict', {
          message:
            present.endpointId === null
              ? 'Nothing is sent to the origin of this URL now, because it responded with 410 or has failed for days. Name it in `webhook_url` of a create again.'
              : `The endpoint is disabled. Enable it first: PATCH /v1/webhook_endpoints/${endpointId} with {"disabled": false}.`,
        })
      }
      if (present.attempts >= attemptsMax) {
        throw new ApiError('conflict', {
          message: `This delivery was attempted ${present.attempts} times, and is not sent again. Read the object of the event instead.`,
        })
      }
      if (!(await redeliver(database, present))) {
        throw new ApiError('conflict', {
          message: 'Newer progress of the task has replaced this delivery, so it is not sent again.',
        })
      }
      await announceDeliveries(database, endpointId)
      const pending = await findOwnDelivery(database, call)
      await call.audit(database, {
        action: 'redeliverWebhookDelivery',
        target: pending.id,
        before: { state: present.state },
        after: { state: pending.state },
      })
      return pending
    })
    return { body: presentDelivery(delivery) }
  }
