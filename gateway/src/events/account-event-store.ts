/** Events that are not about a task. They are recorded in the transaction of their cause. */
import type { EventTypeName } from '@kinora/contract/webhook-events'

import type { Database } from '../platform/postgres.ts'

export interface AccountEvent {
  accountId: string
  type: EventTypeName
  /** The id of what the event is about. */
  objectId: string
  /** What the event shows of it, as in the API: snake case, times in seconds. */
  data: object
}

/** Records an event. The feed and the webhook endpoints of the account have it when the transaction commits. */
export const recordAccountEvent = async (
  database: Database,
  { accountId, type, objectId, data }: AccountEvent,
): Promise<void> => {
  await database.query(
    'insert into account_events (account_id, type, object_id, data) values ($1, $2, $3, $4)',
    [accountId, type, objectId, JSON.stringify(data)],
  )
}
