import type { operations } from '@kinora/contract/operations'

import { givenFilterId } from '../../admin/given-id.ts'
import { microseconds, pageOf, readCursor, rowsFor, uuid } from '../../admin/page.ts'
import type { Handler } from '../../http/call.ts'
import { timeOfUuidV7 } from '../../platform/ids/uuid.ts'
import type { Database } from '../../platform/postgres.ts'
import { timeOfTaskId } from '../../videos/task-id.ts'
import { listDeliveries } from './delivery-log-store.ts'
import { presentDelivery } from './present-delivery.ts'

const list = 'webhook-deliveries'
/** The database reads years up to 9999. */
const timeMaxMs = Date.UTC(9_998, 0)
const uuidCharacters = 36
/** Between an id and its first event, the time may have been set back. */
const marginMs = 3_600_000

/** A time before the first event of an object whose id tells when it was created. Older deliveries need not be read. */
const timeBefore = (objectId: string): Date | undefined => {
  const createdAt = timeOfTaskId(objectId)?.getTime() ?? timeOfUuidV7(objectId.slice(-uuidCharacters))
  if (createdAt === undefined || createdAt < marginMs || createdAt > timeMaxMs) return undefined
  return new Date(createdAt - marginMs)
}

export const listWebhookDeliveries =
  ({ database }: { database: Database }): Handler<typeof operations.listWebhookDeliveries> =>
  async (call) => {
    const { state, type, object_id: objectId } = call.query
    const endpointId = givenFilterId(call, 'endpoint_id')
    const after = readCursor(call, list, [microseconds, uuid])
    const since = objectId === undefined ? undefined : timeBefore(objectId)
    const wanted = { endpointId, state, type, objectId, since, after }
    const rows = await listDeliveries(database, call.caller.accountId, wanted, rowsFor(call))
    return {
      body: pageOf(call, list, rows, presentDelivery, ({ occurredMicroseconds, id }) => [
        occurredMicroseconds,
        id,
      ]),
    }
  }
