import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import type { Database } from '../platform/postgres.ts'
import { presentTranscriptionTask } from './present-transcription-task.ts'
import { createdAtOfTranscription } from './transcription-id.ts'
import { listTranscriptions } from './transcription-task-store.ts'

/** An id says when its task was made, so a page goes on after a task even if that was deleted meanwhile. */
const positionOf = (id: string) => {
  const createdAt = createdAtOfTranscription(id)
  if (createdAt === undefined) {
    throw new ApiError('invalid_parameter', { param: 'after', message: "'after' must be the id of a task." })
  }
  return { createdAt, id }
}

export const listTranscriptionTasks =
  ({ database }: { database: Database }): Handler<typeof operations.listTranscriptionTasks> =>
  async ({ query: { after, limit: limitText, order }, caller }) => {
    const limit = Number(limitText)
    const found = await listTranscriptions(database, caller.accountId, {
      order: order === 'asc' ? 'asc' : 'desc',
      after: after === undefined ? undefined : positionOf(after),
      // One more than is shown tells whether there are more.
      limit: limit + 1,
    })
    const data = found.slice(0, limit).map(presentTranscriptionTask)
    return {
      body: {
        object: 'list',
        data,
        first_id: data[0]?.id ?? null,
        last_id: data.at(-1)?.id ?? null,
        has_more: found.length > limit,
      },
    }
  }
