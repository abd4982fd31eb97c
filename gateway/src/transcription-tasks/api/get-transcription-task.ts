import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../../http/call.ts'
import type { Database } from '../../platform/postgres.ts'
import { presentTranscriptionTask } from './present-transcription-task.ts'
import { readTranscription } from './read-transcription.ts'

export const getTranscriptionTask =
  ({ database }: { database: Database }): Handler<typeof operations.getTranscriptionTask> =>
  async ({ path, caller }) => ({
    body: presentTranscriptionTask(await readTranscription(database, path.id, caller.accountId)),
  })
