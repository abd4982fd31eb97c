import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../../http/call.ts'
import { readMetadataFilter } from '../../metadata/read-metadata.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { LinkSigner } from '../../storage/signed-link.ts'
import { searchByMetadata } from '../../tasks/search-by-metadata.ts'
import { positionOfTask } from '../../tasks/task-position.ts'
import { timeOfTaskId } from '../task-id.ts'
import { listTasks } from '../task-store.ts'
import { videoTables } from '../task.ts'
import { dialectOf, presentVideo, videoUrlOf } from './present-video.ts'

export const listVideos =
  ({
    postgres,
    links,
    taskDays,
  }: {
    postgres: Postgres
    links: LinkSigner
    /** The default retention of tasks, for accounts without their own. */
    taskDays: () => number
  }): Handler<typeof operations.listVideos> =>
  async (call) => {
    const { after, limit: limitText } = call.query
    const { accountId } = call.caller
    const order = call.query.order === 'asc' ? 'asc' : 'desc'
    const limit = Number(limitText)
    const metadata = readMetadataFilter(call.query.metadata)
    const position =
      after === undefined
        ? undefined
        : await positionOfTask(postgres, videoTables, { id: after, accountId, order }, timeOfTaskId(after))
    const found = await searchByMetadata(postgres, metadata, (database) =>
      listTasks(database, accountId, taskDays(), {
        order,
        after: position,
        // One more than the page shows whether there are more.
        limit: limit + 1,
        metadata,
      }),
    )
    const data = found
      .slice(0, limit)
      .map((task) => presentVideo(task, videoUrlOf(links, task.mediaId), dialectOf(call)))
    return {
      body: {
        object: 'list',
        data,
        has_more: found.length > limit,
        first_id: data[0]?.id ?? null,
        last_id: data.at(-1)?.id ?? null,
      },
    }
  }
