import type { adminOperations } from '@kinora/contract/admin-operations'

import type { Catalog } from '../../models/catalog.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { ReadTask } from '../../videos/api/read-task.ts'
import { assertCompleted, sendVideoFile, type VideoFiles } from '../../videos/api/send-video-file.ts'
import type { AdminHandler } from '../admin-call.ts'
import { readAnyTask } from './read-any-task.ts'

/** The file is sent once the audit entry has been committed. */
export const getTaskContent =
  ({
    postgres,
    readTask,
    catalog,
    files,
  }: {
    postgres: Postgres
    readTask: ReadTask
    catalog: Catalog
    files: VideoFiles
  }): AdminHandler<typeof adminOperations.getTaskContent> =>
  async (call) => {
    const { id } = call.path
    const { variant } = call.query
    const { accountId } = await readAnyTask(postgres, id)
    // The task as its customer reads it. A transcription task has no file to send.
    const task = await readTask(id, accountId, { isFresh: true })
    const mediaId = assertCompleted(task, catalog)
    await postgres.transaction((database) =>
      call.audit(database, {
        ...{ action: 'getTaskContent', target: id },
        after: { account_id: accountId, variant },
      }),
    )
    return sendVideoFile(files, call, task, { mediaId, variant })
  }
