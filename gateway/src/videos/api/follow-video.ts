import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'
import type { VideoStatus } from '@kinora/contract/operations/video-fields'

import type { Call, Handler } from '../../http/call.ts'
import type { EventStream, SentEvent } from '../../http/sse.ts'
import type { Database } from '../../platform/postgres.ts'
import type { LinkSigner } from '../../storage/signed-link.ts'
import { isFinal } from '../../tasks/task.ts'
import { isLast, refusalIn, type FollowTask } from '../lifecycle/follow-task.ts'
import { findLastEvent, type TaskEvent } from '../lifecycle/task-event-store.ts'
import type { Estimate, EstimateTask } from '../queue/estimate-task.ts'
import type { VideoTask } from '../task.ts'
import { dialectOf, presentEstimate, presentVideo, videoUrlOf, type Dialect } from './present-video.ts'
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
  writeError: Call['writeError']
}

/** The task as it was before its first event. */
const beforeEvents = (task: VideoTask): VideoTask => ({
  ...task,
  state: 'pending',
  progress: 0,
  enhancedPrompt: task.order.prompt,
  statusUpdatedAt: task.createdAt,
  ...{ mediaId: null, mediaExpiresAt: null, outcomeUnknownUntil: null, errorCode: null, errorMessage: null },
})

/** The task as it was after an event. `latest` was read at that time or later. */
const afterEvent = (task: VideoTask, { kind, data, createdAt }: TaskEvent, latest: VideoTask): VideoTask => {
  const state = stateAfter[kind]
  return {
    ...task,
    state,
    progress: Math.max(task.progress, data.progress ?? 0),
    ...(state !== 'pending' && { enhancedPrompt: latest.enhancedPrompt }),
    ...(state !== task.state && { statusUpdatedAt: createdAt }),
    ...{ mediaId: data.mediaId ?? null, mediaExpiresAt: latest.mediaExpiresAt },
    ...{ errorCode: data.code ?? null, errorMessage: data.message ?? null },
  }
}

// Jitter, so that clients disconnected together do not reconnect together.
const reconnectDelayMs = () => 500 + Math.floor(Math.random() * 2_000)

/**
 * Reads the task again when an event shows that it has changed since: it may have another prompt and another provider once
 * it was submitted. Only a client of the `openai` dialect is told until when the video is kept. An event is sent even if
 * the task cannot be read.
 */
const createLatest = (first: VideoTask, { readTask, dialect }: StreamDependencies) => {
  let latest = first
  return async ({ kind }: TaskEvent): Promise<VideoTask> => {
    const isSubmitted = latest.state === 'pending' && stateAfter[kind] !== 'pending'
    const isKept = kind === 'completed' && latest.state !== 'completed' && dialect === 'openai'
    if (isSubmitted || isKept) {
      latest = await readTask(latest.id, latest.accountId, { isFresh: true }).catch(() => latest)
    }
    return latest
  }
}

/** The estimate for an event. An event of an earlier state has none. */
const estimateOf = async (
  { kind }: TaskEvent,
  latest: VideoTask,
  estimateTask: EstimateTask,
): Promise<Estimate> =>
  isFinal(latest.state) || latest.state !== stateAfter[kind] ? {} : estimateTask(latest)

/** A function of its own, so that a stream that waits does not hold what it needs. */
const presentEvent = async (
  event: TaskEvent,
  task: VideoTask,
  latest: VideoTask,
  { links, dialect, estimateTask }: StreamDependencies,
): Promise<SentEvent> => {
  const estimate = await estimateOf(event, latest, estimateTask)
  const view = presentVideo(task, videoUrlOf(links, task.mediaId), dialect)
  return { id: event.id, event: event.kind, data: JSON.stringify({ ...view, ...presentEstimate(estimate) }) }
}

async function* streamEvents(
  first: VideoTask,
  afterEventId: number,
  dependencies: StreamDependencies,
  signal: AbortSignal,
): EventStream {
  const { follow } = dependencies
  const latestAt = createLatest(first, dependencies)
  let task = beforeEvents(first)
  // The events that the client has received are read again, because later ones depend on their times.
  for await (const event of follow(first, 0, signal)) {
    const latest = await latestAt(event)
    task = afterEvent(task, event, latest)
    if (event.id <= afterEventId) continue
    yield await presentEvent(event, task, latest, dependencies)
  }
  const refusal = refusalIn(signal)
  if (refusal !== undefined) yield { event: 'error', data: dependencies.writeError(refusal) }
  else if (signal.reason instanceof ApiError) yield { retryMs: reconnectDelayMs() }
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
    const { writeError } = call
    const dependencies = { follow, links, readTask, estimateTask, writeError, dialect: dialectOf(call) }
    return { body: streamEvents(task, last?.id ?? 0, dependencies, call.waitSignal()) }
  }
