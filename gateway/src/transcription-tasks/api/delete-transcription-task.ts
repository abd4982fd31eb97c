import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../../http/call.ts'
import { settleTranscription, type SettleDependencies } from '../lifecycle/settle-transcription.ts'
import { deleteFinishedTranscription } from '../transcription-task-store.ts'
import { failed, isFinal } from '../transcription-task.ts'
import { readTranscription } from './read-transcription.ts'

/**
 * A task under way is ended first: the part that has been transcribed is charged, because the provider is paid for it,
 * and the recording is removed. A run that works on it either ends it a moment earlier or finds nothing more to do.
 */
export const deleteTranscriptionTask =
  (dependencies: SettleDependencies): Handler<typeof operations.deleteTranscriptionTask> =>
  async ({ path, caller: { accountId } }) => {
    const { postgres } = dependencies
    const { id, day, state } = await readTranscription(postgres, path.id, accountId)
    if (!isFinal(state)) {
      await settleTranscription(dependencies, id, { ...failed('task_cancelled'), isPartCharged: true })
    }
    if (!(await deleteFinishedTranscription(postgres, { id, day, accountId }))) {
      throw new ApiError('task_not_found')
    }
    return { body: { id, object: 'transcription.task.deleted', deleted: true } }
  }
