import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Handler } from '../http/call.ts'
import type { Database } from '../platform/postgres.ts'
import type { LinkSigner } from '../storage/signed-link.ts'
import { presentListedVideo, speaksOpenAi, videoUrlOf } from './present-video.ts'
import { createdAtOfTaskId } from './task-id.ts'
import { listTasks } from './task-store.ts'

/** An id says when its task was made, so a page goes on after a task even if that was deleted meanwhile. */
const positionOf = (id: string) => {
  const createdAt = createdAtOfTaskId(id)
  if (createdAt === undefined) {
    throw new ApiError('invalid_parameter', { param: 'after', message: "'after' must be the id of a task." })
  }
  return { createdAt, id }
}

export const listVideos =
  ({
    database,
    links,
    taskDays,
  }: {
    database: Database
    links: LinkSigner
    /** How long tasks can be read, where their account has no term of its own. */
    taskDays: () => number
  }): Handler<typeof operations.listVideos> =>
  async (call) => {
    const { after, limit: limitText, order } = call.query
    const limit = Number(limitText)
    const found = await listTasks(database, call.caller.accountId, taskDays(), {
      order: order === 'asc' ? 'asc' : 'desc',
      after: after === undefined ? undefined : positionOf(after),
      // One more than is shown tells whether there are more.
      limit: limit + 1,
    })
    const data = found
      .slice(0, limit)
      .map((task) => presentListedVideo(task, videoUrlOf(links, task.mediaId), speaksOpenAi(call)))
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
