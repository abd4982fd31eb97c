/** The state of the queue of transcription tasks. */
import type { Database } from '../platform/postgres.ts'
import type { QueueState } from '../routing/queue-wait.ts'

/** The one queue of all transcription tasks; no provider can have this name. */
export const recordingQueue = { queue: '/transcriptions', model: 'all' }

/** The state of the queue. Its dispatcher is this loop of the engine. */
export const readRecordingQueue = async (
  database: Database,
  dispatcher: { loop: string; key: string },
): Promise<QueueState> => {
  const { queue, model } = recordingQueue
  const waiting = await database.query<{ accountId: string; waiting: number }>(
    `select account_id as "accountId", count(*) as waiting
       from open_transcriptions where stage = 'accepted' group by account_id`,
  )
  const starts = await database.query<{ starts: number; tickedAtMs: number }>(
    `select starts, (extract(epoch from ticked_at) * 1000)::double precision as "tickedAtMs"
       from queue_starts
       cross join lateral (
         select ticked_at from ticks where loop = $3 and key = $4 order by ticked_at desc limit 1
       ) last
      where queue = $1 and model = $2`,
    [queue, model, dispatcher.loop, dispatcher.key],
  )
  return {
    waiting: waiting.rows.map((row) => ({ ...row, queue, model })),
    starts: starts.rows.map((row) => ({ ...row, queue, model })),
  }
}
