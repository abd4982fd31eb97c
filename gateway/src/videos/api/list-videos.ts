import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'

import type { Call, Handler } from '../../http/call.ts'
import { readMetadataFilter } from '../../metadata/read-metadata.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { LinkSigner } from '../../storage/signed-link.ts'
import { searchByMetadata } from '../../tasks/search-by-metadata.ts'
import { positionOfTask } from '../../tasks/task-position.ts'
import type { EstimateTask } from '../queue/estimate-task.ts'
import { timeOfTaskId } from '../task-id.ts'
import { listTasks, type ListedTask, type VideoFilter } from '../task-store.ts'
import { videoTables, type VideoTask } from '../task.ts'
import { presentDetails } from './present-details.ts'
import { dialectOf, presentVideo, videoUrlOf } from './present-video.ts'

type ListCall = Call<typeof operations.listVideos>

const stateNames: Record<string, VideoTask['state']> = { queued: 'pending', in_progress: 'processing' }

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const readTime = (text: string | undefined): Date | undefined =>
  text === undefined ? undefined : new Date(Number(text) * 1000)

/** PostgreSQL cannot compare texts with zero bytes or lone surrogates. */
const assertText = (param: 'model' | 'q', text: string | undefined): void => {
  if (text === undefined || (!text.includes('\0') && text.isWellFormed())) return
  throw new ApiError('invalid_parameter', { param, message: `'${param}' must be text.` })
}

/** The filters of the query, with the name of the first one. */
const readFilter = ({ query }: ListCall): { filter: VideoFilter; param: string | undefined } => {
  const { status, model, created_after: after, created_before: before, key_id: keyId, q } = query
  assertText('model', model)
  assertText('q', q)
  if (keyId !== undefined && !uuid.test(keyId)) {
    throw new ApiError('invalid_parameter', { param: 'key_id', message: "'key_id' must be the id of a key." })
  }
  const metadata = readMetadataFilter(query.metadata)
  return {
    filter: {
      states: status?.split(',').map((name) => stateNames[name] ?? (name as VideoTask['state'])),
      model,
      createdAfter: readTime(after),
      createdBefore: readTime(before),
      keyId,
      promptText: q,
      metadata,
    },
    param:
      metadata.length > 0
        ? 'metadata'
        : (['q', 'status', 'model', 'key_id', 'created_after', 'created_before'] as const).find(
            (name) => query[name] !== undefined,
          ),
  }
}

export const listVideos =
  ({
    postgres,
    links,
    taskDays,
    estimateTask,
  }: {
    postgres: Postgres
    links: LinkSigner
    /** The default retention of tasks, for accounts without their own. */
    taskDays: () => number
    estimateTask: EstimateTask
  }): Handler<typeof operations.listVideos> =>
  async (call) => {
    const { after, limit: limitText } = call.query
    const { accountId, currency } = call.caller
    const order = call.query.order === 'asc' ? 'asc' : 'desc'
    const limit = Number(limitText)
    const { filter, param } = readFilter(call)
    const position =
      after === undefined
        ? undefined
        : await positionOfTask(postgres, videoTables, { id: after, accountId, order }, timeOfTaskId(after))
    const found = await searchByMetadata(
      postgres,
      param === undefined ? [] : [param],
      (database) =>
        listTasks(database, accountId, taskDays(), {
          order,
          after: position,
          // One more than the page shows whether there are more.
          limit: limit + 1,
          ...filter,
        }),
      undefined,
      param,
    )
    const present = async (task: ListedTask) => {
      const video = presentVideo(task, videoUrlOf(links, task.mediaId), dialectOf(call))
      if (call.query.include !== 'details') return video
      return { ...video, details: presentDetails(task, currency, await estimateTask(task)) }
    }
    const data = await Promise.all(found.slice(0, limit).map(present))
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
