/**
 * Transcription tasks as their readers see them: one past its account's term is not there, although its row goes with
 * its month.
 */
import { ApiError } from '@kinora/contract/errors'

import type { Call } from '../http/call.ts'
import type { Database } from '../platform/postgres.ts'
import { createdAtOfTranscription } from '../transcription-tasks/transcription-id.ts'
import { tasksKeptSince } from './account-term-store.ts'
import type { InstanceDays } from './retention-days.ts'

type TaskCall = Pick<Call, 'caller'> & { path: { id: string } }

export interface RetainedTranscriptions {
  /** From when on an account's tasks can be read. */
  since: (accountId: string) => Promise<Date>
  /** The same handler for one task, for which a task that is past is unknown. */
  one: <Read extends TaskCall, Answer>(
    handler: (call: Read) => Promise<Answer>,
  ) => (call: Read) => Promise<Answer>
}

export const retainedTranscriptions = (database: Database, days: InstanceDays): RetainedTranscriptions => {
  const since = (accountId: string) => tasksKeptSince(database, accountId, days())
  return {
    since,
    one: (handler) => async (call) => {
      const createdAt = createdAtOfTranscription(call.path.id)
      if (createdAt !== undefined && createdAt < (await since(call.caller.accountId))) {
        throw new ApiError('task_not_found')
      }
      return handler(call)
    },
  }
}
