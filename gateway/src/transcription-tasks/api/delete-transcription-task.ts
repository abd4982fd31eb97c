import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../../http/call.ts'
import { removeFiles } from '../../storage/removal/remove-files.ts'
import { isFinal } from '../../tasks/task.ts'
import { settleTranscription, type SettleDependencies } from '../lifecycle/settle-transcription.ts'
import { deleteEndedTranscriptions } from '../transcription-task-store.ts'
import { failed } from '../transcription-task.ts'
import { readTranscription } from './read-transcription.ts'

/**
 * Ends an open task first: the transcribed part is charged, because the provider charges for it, and the recording is
 * removed. A run that works on the task at the same time has either ended it before or stops at its next step.
 */
export const deleteTranscriptionTask =
  (dependencies: SettleDependencies): Handler<typeof operations.deleteTranscriptionTask> =>
  async ({ path, caller: { accountId } }) => {
    const { postgres } = dependencies
    const { id, day, state } = await readTranscription(postgres, path.id, accountId)
    if (!isFinal(state)) {
      await settleTranscription(dependencies, id, { ...failed('task_cancelled'), isPartCharged: true })
    }
    const { ids, files } = await deleteEndedTranscriptions(postgres, [{ id, day, accountId }])
    if (ids.length === 0) throw new ApiError('task_not_found')
    await removeFiles(dependencies, files)
    return { body: { id, object: 'transcription.task.deleted', deleted: true } }
  }
