/** Hides expired transcription tasks from readers until their partition is dropped. */
import { ApiError } from '@kinora/contract/errors'

import type { Call } from '../http/call.ts'
import type { Database } from '../platform/postgres.ts'
import { createdAtOfTranscription } from '../transcription-tasks/transcription-id.ts'
import { tasksRetainedSince } from './account-term-store.ts'
import type { InstanceDays } from './retention-days.ts'

type TaskCall = Pick<Call, 'caller'> & { path: { id: string } }

export interface RetainedTranscriptions {
  /** Tasks of the account that were created before this time are hidden. */
  since: (accountId: string) => Promise<Date>
  /** Wraps a handler so that an expired task is not found. */
  one: <Read extends TaskCall, Answer>(
    handler: (call: Read) => Promise<Answer>,
  ) => (call: Read) => Promise<Answer>
}

export const retainedTranscriptions = (database: Database, days: InstanceDays): RetainedTranscriptions => {
  const since = (accountId: string) => tasksRetainedSince(database, accountId, days())
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
