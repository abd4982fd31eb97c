import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Database } from '../../platform/postgres.ts'
import {
  settleTranscription,
  type SettleDependencies,
} from '../../transcription-tasks/lifecycle/settle-transcription.ts'
import { failed } from '../../transcription-tasks/transcription-task.ts'
import type { CancelTask } from '../../videos/api/cancel-video.ts'
import type { AdminHandler } from '../admin-call.ts'
import { presentTask } from './present-task.ts'
import { readAnyTask } from './read-any-task.ts'

/** A finished task is returned unchanged, without an audit entry. */
export const cancelTask =
  ({
    cancelVideo,
    recordings,
  }: {
    cancelVideo: CancelTask
    recordings: SettleDependencies
  }): AdminHandler<typeof adminOperations.cancelTask> =>
  async (call) => {
    const { postgres } = recordings
    const { id, kind, accountId, state, finishedAt } = await readAnyTask(postgres, call.path.id)
    const noteDown = (database: Database) =>
      call.audit(database, {
        action: 'cancelTask',
        target: id,
        before: { status: state },
        after: { status: 'failed' },
      })
    if (finishedAt === null) {
      if (kind === 'video') await cancelVideo(id, accountId, noteDown)
      else {
        await settleTranscription(
          recordings,
          id,
          failed('task_cancelled', 'The task was cancelled.'),
          noteDown,
        )
      }
    }
    return { body: presentTask(await readAnyTask(postgres, id), call.operator.currency) }
  }
