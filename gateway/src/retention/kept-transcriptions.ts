/**
 * Transcription tasks as their readers see them: one past its account's term is not there, although its row goes with
 * its month.
 */
import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Call, Handler } from '../http/call.ts'
import type { Database } from '../platform/postgres.ts'
import { createTranscriptionId, createdAtOfTranscription } from '../transcripts/transcription-id.ts'
import { tasksKeptSince } from './account-term-store.ts'
import type { InstanceDays } from './retention-days.ts'

export interface KeptTranscriptions {
  /** The same handler for one task, for which a task that is past is unknown. */
  one: <Answer>(handler: (call: Call) => Promise<Answer>) => (call: Call) => Promise<Answer>
  /** The same handler for a page of them, which ends where they are past. */
  list: (
    handler: Handler<typeof operations.listTranscriptionTasks>,
  ) => Handler<typeof operations.listTranscriptionTasks>
}

export const keptTranscriptions = (database: Database, days: InstanceDays): KeptTranscriptions => {
  const keptSince = ({ caller }: Call) => tasksKeptSince(database, caller.accountId, days())
  return {
    one: (handler) => async (call) => {
      const createdAt = createdAtOfTranscription(call.path['id'] ?? '')
      if (createdAt !== undefined && createdAt < (await keptSince(call))) throw new ApiError('task_not_found')
      return handler(call)
    },
    list: (handler) => async (call) => {
      const since = await keptSince(call)
      const { order, after } = call.query
      if (order === 'asc') {
        // An id is a position in time, so the oldest page starts where tasks are kept from.
        const isOlder = after === undefined || (createdAtOfTranscription(after) ?? since) < since
        const query = isOlder ? { ...call.query, after: createTranscriptionId(since.getTime()) } : call.query
        return handler({ ...call, query })
      }
      const reply = await handler(call)
      if (reply.body === undefined) return reply
      const kept = reply.body.data.filter(({ id }) => (createdAtOfTranscription(id) ?? since) >= since)
      if (kept.length === reply.body.data.length) return reply
      const ends = { first_id: kept[0]?.id ?? null, last_id: kept.at(-1)?.id ?? null, has_more: false }
      return { ...reply, body: { ...reply.body, data: kept, ...ends } }
    },
  }
}
