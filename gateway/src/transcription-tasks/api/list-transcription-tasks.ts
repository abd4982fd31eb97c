import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../../http/call.ts'
import { readMetadataFilter } from '../../metadata/read-metadata.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { searchByMetadata } from '../../tasks/search-by-metadata.ts'
import { positionOfTask } from '../../tasks/task-position.ts'
import { createdAtOfTranscription } from '../transcription-id.ts'
import { listTranscriptions } from '../transcription-task-store.ts'
import { transcriptionTables } from '../transcription-task.ts'
import { presentTranscriptionTask } from './present-transcription-task.ts'

export const listTranscriptionTasks =
  ({
    postgres,
    retainedSince,
  }: {
    postgres: Postgres
    /** The creation time of the oldest tasks that an account can still read. */
    retainedSince: (accountId: string) => Promise<Date>
  }): Handler<typeof operations.listTranscriptionTasks> =>
  async ({ query, caller: { accountId } }) => {
    const { after } = query
    const limit = Number(query.limit)
    const order = query.order === 'asc' ? 'asc' : 'desc'
    const metadata = readMetadataFilter(query.metadata)
    const position =
      after === undefined
        ? undefined
        : await positionOfTask(
            postgres,
            transcriptionTables,
            { id: after, accountId, order },
            createdAtOfTranscription(after),
          )
    const since = await retainedSince(accountId)
    const found = await searchByMetadata(postgres, metadata, (database) =>
      listTranscriptions(database, accountId, since, {
        order,
        after: position,
        // One more than the page shows whether there are more.
        limit: limit + 1,
        metadata,
      }),
    )
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
