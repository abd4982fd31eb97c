import { givenId, notFound } from '../../admin/given-id.ts'
import type { Call } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { dayOfDelivery } from './delivery-id.ts'
import { findDelivery, type DeliveryRow } from './delivery-log-store.ts'

export const deliveryResource = 'webhook delivery'

/** The delivery in the path, if it belongs to the caller's account. */
export const findOwnDelivery = async (
  database: Database,
  call: Pick<Call, 'path' | 'caller'>,
): Promise<DeliveryRow> => {
  const id = givenId(call, deliveryResource)
  const day = dayOfDelivery(id)
  const found = day === undefined ? undefined : await findDelivery(database, call.caller.accountId, day, id)
  if (found === undefined) throw notFound(deliveryResource)
  return found
}
