/**
 * Videos by chat: the conversation becomes a video task, and the reply reports the task's events in three kinds of
 * lines. The task continues if the reply is interrupted; its id is the first line.
 */
import { ApiError, type ErrorCode } from '@kinora/contract/errors'
import type { Quote } from '@kinora/contract/operations/account'
import { ChatBody, type ChatChunk, type ChatCompletion } from '@kinora/contract/operations/chat'
import type { TaskErrorCode } from '@kinora/contract/task-errors'

import type { Call, Reply } from '../http/call.ts'
import type { EventStream, SentEvent } from '../http/sse.ts'
import { readMetadata } from '../metadata/read-metadata.ts'
import { deprecationHeaders } from '../models/deprecation.ts'
import { findFrame, type Orientation } from '../models/frame.ts'
import type { VideoModel } from '../models/model.ts'
import { withFinalizer } from '../platform/streams/with-finalizer.ts'
import type { LinkSigner } from '../storage/signed-link.ts'
import type { CancelTask } from '../videos/api/cancel-video.ts'
import type { ReadTask } from '../videos/api/read-task.ts'
import { imageHeadBytes, imageSizeOf } from '../videos/images/image-size.ts'
import { tryImages, withImages } from '../videos/images/reference-image.ts'
import type { ImageDependencies, StoredImage } from '../videos/images/stored-image.ts'
import { refusalIn, type FollowTask } from '../videos/lifecycle/follow-task.ts'
import type { TaskEvent } from '../videos/lifecycle/task-event-store.ts'
import type { AdmitVideo } from '../videos/queue/admit-video.ts'
import type { VideoTask } from '../videos/task.ts'
import { readVideoPrompt } from './video-prompt.ts'

export type ChatVideo = (
  call: Call,
  model: VideoModel,
) => Promise<Reply<ChatCompletion | EventStream | Quote>>

interface ReplyDependencies {
  follow: FollowTask
  links: LinkSigner
  cancelTask: CancelTask
}

export interface ChatVideoDependencies extends ReplyDependencies {
  admitVideo: AdmitVideo
  images: ImageDependencies
  readTask: ReadTask
  /** How long a non-streaming reply waits for the video. */
  waitMs: number
}

/** The data that a reply needs. It does not refer to the request, because a reply may live much longer. */
interface FollowedTask {
  id: string
  day: string
  accountId: string
  model: string
  created: number
  /** Cancel the task if the client disconnects before its end. */
  isCancelledWithCaller: boolean
  writeError: Call['writeError']
}

const orientationOf = async (
  { mediaStore }: ImageDependencies,
  image: StoredImage | undefined,
): Promise<Orientation | undefined> => {
  if (image === undefined) return undefined
  const chunks: Buffer[] = []
  const range = { start: 0, end: Math.min(image.sizeBytes, imageHeadBytes) - 1 }
  const head = await mediaStore.open(image.storageKey, { range })
  for await (const chunk of head as AsyncIterable<Buffer>) chunks.push(chunk)
  const size = imageSizeOf(image.contentType, Buffer.concat(chunks))
  return size !== undefined && size.height > size.width ? 'portrait' : 'landscape'
}

/** A conversation cannot choose the frame, so one of another orientation is better than none. */
const frameFor = (model: VideoModel, orientation: Orientation | undefined) => {
  const frame = findFrame(model, { orientation }) ?? findFrame(model, {})
  if (frame === undefined) throw new Error(`${model.id} has no frame`)
  return frame
}

/** Calls `work` with the order and the images of a conversation. */
const withOrder = async <Result>(
  images: ImageDependencies,
  call: Call,
  model: VideoModel,
  work: (admission: Parameters<AdmitVideo>[0]) => Promise<Result>,
): Promise<Result> => {
  const { caller } = call
  const metadata = readMetadata(call.fields.value('metadata'))
  const request = await readVideoPrompt(call, model.imagesMax)
  const storeImages = call.wantsQuote ? tryImages : withImages
  return storeImages(images, request.images, call, async (stored) => {
    const order = {
      prompt: request.prompt,
      seconds: model.durations[0],
      ...frameFor(model, await orientationOf(images, stored[0])),
      watermark: true,
      isPrivate: false,
      ...(metadata !== undefined && { metadata }),
    }
    return work({ caller, model, createdVia: 'chat', order, images: stored })
  })
}

const accept = async (
  { admitVideo, images, readTask }: ChatVideoDependencies,
  call: Call,
  model: VideoModel,
): Promise<VideoTask> => {
  const { caller, replayOf } = call
  const overload = replayOf === undefined ? admitVideo.overloadOf(model, caller.accountId) : undefined
  if (overload !== undefined) throw overload
  // A replay writes the reply again from the task's events, so no body is stored.
  const responseToStore = (task: VideoTask) =>
    call.responseToStore(task.id, { headers: deprecationHeaders(model, call), body: undefined })
  const task =
    replayOf === undefined
      ? await withOrder(images, call, model, (admission) => admitVideo({ ...admission, responseToStore }))
      : await readTask(replayOf, caller.accountId)
  call.note({ taskId: task.id })
  return task
}

/** Converts events to lines. Progress never decreases and reaches 100 % before the link. */
const createLineWriter = (taskId: string, links: LinkSigner) => {
  let reported = -1
  const progressLines = (progress: number) => {
    if (progress <= reported) return []
    reported = progress
    return [`progress: ${progress}%`]
  }
  return ({ kind, data }: TaskEvent): string[] => {
    if (kind === 'accepted') return [`task_id: ${taskId}`]
    if (kind === 'completed') {
      return [...progressLines(100), `video_url: ${links.link(data.mediaId ?? '', 'video.mp4')}`]
    }
    return kind === 'failed' ? [] : progressLines(data.progress ?? 0)
  }
}

/** Settings of text replies. They are validated, but have no effect on a video. */
const settingsOfText = ['temperature', 'top_p', 'max_tokens', 'max_completion_tokens'] as const

/** The error code of the response for a failed task. Codes that only tasks have are mapped to a similar one. */
const responseCodeOf = (code: TaskErrorCode): ErrorCode => {
  if (code === 'task_timeout') return 'upstream_error'
  return code === 'task_cancelled' ? 'task_failed' : code
}

const failureOf = ({ data }: TaskEvent) => {
  const code = data.code ?? 'upstream_error'
  // A retry by the client library would create a second task.
  const headers = { 'x-should-retry': 'false' }
  const message = data.message === undefined ? {} : { message: data.message }
  return { code, error: new ApiError(responseCodeOf(code), { ...message, headers }) }
}

const chunkOf = (followed: FollowedTask, line: string): ChatChunk => ({
  id: `chatcmpl-${followed.id}`,
  object: 'chat.completion.chunk',
  created: followed.created,
  model: followed.model,
  choices: [
    {
      index: 0,
      // Client libraries that assemble the message need the role once, and the ends of the lines to separate them.
      delta: { ...(line.startsWith('task_id:') && { role: 'assistant' }), content: `${line}\n` },
      finish_reason: line.startsWith('video_url:') ? 'stop' : null,
    },
  ],
})

const hasDisconnected = (signal: AbortSignal) => signal.aborted && !(signal.reason instanceof ApiError)

const sentFor = (followed: FollowedTask, event: TaskEvent, lines: string[]): SentEvent[] => {
  if (event.kind === 'failed') {
    const { error, code } = failureOf(event)
    return [{ id: event.id, data: followed.writeError(error, code) }]
  }
  return lines.map((line, index) => ({
    // Only the last line of an event has its id, so that a client which resumes does not skip the other lines.
    ...(index === lines.length - 1 && { id: event.id }),
    data: JSON.stringify(chunkOf(followed, line)),
  }))
}

const stream = (
  { follow, links, cancelTask }: ReplyDependencies,
  followed: FollowedTask,
  signal: AbortSignal,
): EventStream => {
  const linesOf = createLineWriter(followed.id, links)
  let isOver = false
  async function* events(): EventStream {
    for await (const event of follow(followed, 0, signal)) yield* sentFor(followed, event, linesOf(event))
    isOver = !hasDisconnected(signal)
    if (signal.reason instanceof ApiError) {
      const message = `The server is restarting. The task continues: follow it at /v1/videos/${followed.id}/events.`
      const error = refusalIn(signal) ?? new ApiError(signal.reason.code, { message })
      yield { data: followed.writeError(error) }
    }
    yield { data: '[DONE]' }
  }
  return withFinalizer(events(), async () => {
    // The end of a reply because of a shutdown is not a disconnect.
    const isAbandoned = !isOver && !(signal.reason instanceof ApiError)
    if (followed.isCancelledWithCaller && isAbandoned) await cancelTask(followed.id, followed.accountId)
  })
}

const wait = async (
  { follow, links, cancelTask }: ReplyDependencies,
  followed: FollowedTask,
  disconnected: AbortSignal,
  waitMs: number,
): Promise<ChatCompletion> => {
  const linesOf = createLineWriter(followed.id, links)
  const lines = new Map([
    ['task_id', `task_id: ${followed.id}`],
    ['progress', 'progress: 0%'],
  ])
  const signal = AbortSignal.any([disconnected, AbortSignal.timeout(waitMs)])
  for await (const event of follow(followed, 0, signal)) {
    if (event.kind === 'failed') throw failureOf(event).error
    for (const line of linesOf(event)) lines.set(line.slice(0, line.indexOf(':')), line)
  }
  const refusal = refusalIn(disconnected)
  if (refusal !== undefined) throw refusal
  if (followed.isCancelledWithCaller && hasDisconnected(disconnected)) {
    await cancelTask(followed.id, followed.accountId)
  }
  return {
    id: `chatcmpl-${followed.id}`,
    object: 'chat.completion',
    created: followed.created,
    model: followed.model,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: [...lines.values()].join('\n') },
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  }
}

const libraryTimeoutSeconds = 600
const marginMs = 10_000

/** Responds before the timeout of a client library, because its retry would create a second video. */
const replyTimeoutMs = ({ header }: Call, waitMs: number): number => {
  if (header('x-stainless-lang') === undefined) return waitMs
  const libraryMs = Number(header('x-stainless-timeout') ?? libraryTimeoutSeconds) * 1000
  return Number.isFinite(libraryMs) ? Math.max(1_000, Math.min(waitMs, libraryMs - marginMs)) : waitMs
}

export const createChatVideo =
  (dependencies: ChatVideoDependencies): ChatVideo =>
  async (call, model) => {
    const body = call.read(ChatBody)
    for (const name of settingsOfText) if (body[name] !== undefined) call.ignore(name)
    const { admitVideo, images, follow, links, cancelTask, waitMs } = dependencies
    const headers = deprecationHeaders(model, call)
    if (call.wantsQuote) return { headers, body: await withOrder(images, call, model, admitVideo.quote) }
    const task = await accept(dependencies, call, model)
    const followed: FollowedTask = {
      id: task.id,
      day: task.day,
      accountId: task.accountId,
      model: task.modelName,
      created: Math.floor(task.createdAt.getTime() / 1000),
      isCancelledWithCaller: call.header('x-cancel-on-disconnect')?.trim().toLowerCase() === 'true',
      writeError: call.writeError,
    }
    const reply = { follow, links, cancelTask }
    return body.stream === true
      ? { headers, body: stream(reply, followed, call.waitSignal()) }
      : { headers, body: await wait(reply, followed, call.waitSignal(), replyTimeoutMs(call, waitMs)) }
  }
