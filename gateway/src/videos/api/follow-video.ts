import { ApiError, errors } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'
import type { VideoStatus } from '@kinora/contract/operations/video-fields'
import type { VideoEvent } from '@kinora/contract/operations/videos'

import type { Call, Handler } from '../../http/call.ts'
import type { EventStream } from '../../http/sse.ts'
import type { Database } from '../../platform/postgres.ts'
import type { LinkSigner } from '../../storage/signed-link.ts'
import { isLast, refusalIn, type FollowTask } from '../lifecycle/follow-task.ts'
import { findLastEvent, type TaskEvent } from '../lifecycle/task-event-store.ts'
import type { Estimate, EstimateTask } from '../queue/estimate-task.ts'
import { isFinal, type VideoTask } from '../task.ts'
import { dialectOf, presentEstimate, statusName, videoUrlOf, type Dialect } from './present-video.ts'
import type { ReadTask } from './read-task.ts'

const stateAfter: Record<TaskEvent['kind'], VideoStatus> = {
  accepted: 'pending',
  processing: 'processing',
  progress: 'processing',
  completed: 'completed',
  failed: 'failed',
}

/** The last event that the client received. Clients that reconnect by themselves send the header. */
const lastEventIdOf = ({
  header,
  query,
}: Call<typeof operations.followVideo>): { param: string; id: number } | undefined => {
  const given = header('last-event-id')?.trim() ?? ''
  if (given === '') {
    const parameter = query.last_event_id
    return parameter === undefined ? undefined : { param: 'last_event_id', id: Number(parameter) }
  }
  if (/^\d{1,15}$/.test(given)) return { param: 'Last-Event-ID', id: Number(given) }
  throw new ApiError('invalid_parameter', {
    param: 'Last-Event-ID',
    message: "'Last-Event-ID' must be the id of an event of this task.",
  })
}

interface StreamDependencies {
  follow: FollowTask
  links: LinkSigner
  dialect: Dialect
  readTask: ReadTask
  estimateTask: EstimateTask
}

const viewOf = (
  taskId: string,
  event: TaskEvent,
  progress: number,
  estimate: Estimate,
  { links, dialect }: StreamDependencies,
): VideoEvent => {
  const { mediaId, code, message } = event.data
  return {
    id: taskId,
    status: statusName(stateAfter[event.kind], dialect),
    progress,
    video_url: videoUrlOf(links, mediaId ?? null),
    ...(code !== undefined && { error: { code, message: message ?? '' } }),
    ...presentEstimate(estimate),
  }
}

// Jitter, so that clients disconnected together do not reconnect together.
const reconnectDelayMs = () => 500 + Math.floor(Math.random() * 2_000)

/** Estimates for the events of a task. An event of an earlier state has none. */
const createEventEstimate = (first: VideoTask, { readTask, estimateTask }: StreamDependencies) => {
  let task = first
  return async ({ kind }: TaskEvent): Promise<Estimate> => {
    const state = stateAfter[kind]
    if (isFinal(state) || isFinal(task.state)) return {}
    if (task.state === 'pending' && state === 'processing') {
      // It may have moved to another provider before it was submitted. The event is sent even if it cannot be read.
      task = await readTask(task.id, task.accountId, { isFresh: true }).catch(() => task)
    }
    return task.state === state ? estimateTask(task) : {}
  }
}

async function* streamEvents(
  task: VideoTask,
  afterEventId: number,
  dependencies: StreamDependencies,
  signal: AbortSignal,
): EventStream {
  let progress = 0
  const estimateOf = createEventEstimate(task, dependencies)
  for await (const event of dependencies.follow(task, afterEventId, signal)) {
    progress = Math.max(progress, event.data.progress ?? 0)
    const view = viewOf(task.id, event, progress, await estimateOf(event), dependencies)
    yield { id: event.id, event: event.kind, data: JSON.stringify(view) }
  }
  const refusal = refusalIn(signal)
  if (refusal !== undefined) {
    const { code, message } = refusal
    yield { event: 'error', data: JSON.stringify({ error: { message, type: errors[code].type, code } }) }
  } else if (signal.reason instanceof ApiError) yield { retryMs: reconnectDelayMs() }
}

export const followVideo =
  ({
    database,
    readTask,
    follow,
    links,
    estimateTask,
  }: {
    database: Database
    readTask: ReadTask
    follow: FollowTask
    links: LinkSigner
    estimateTask: EstimateTask
  }): Handler<typeof operations.followVideo> =>
  async (call) => {
    const last = lastEventIdOf(call)
    const task = await readTask(call.path.id, call.caller.accountId)
    const { id, day } = task
    if (last !== undefined) {
      const newest = await findLastEvent(database, day, id)
      if (last.id > (newest?.id ?? 0)) {
        throw new ApiError('invalid_parameter', {
          param: last.param,
          message: `'${last.param}' must be the id of an event of this task.`,
        })
      }
      // A browser reconnects to an ended stream until it gets a 204.
      if (newest !== undefined && isLast(newest) && last.id === newest.id) {
        return { status: 204, body: undefined }
      }
    }
    const dependencies = { follow, links, readTask, estimateTask, dialect: dialectOf(call) }
    return { body: streamEvents(task, last?.id ?? 0, dependencies, call.waitSignal()) }
  }
