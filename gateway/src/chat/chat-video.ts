/**
 * A video by way of chat: the conversation becomes an order like any other, and the reply tells its task's
 * events in three kinds of line. A reply that breaks off loses nothing: the task goes on, and its id was the
 * first thing said.
 */
import { ApiError, errors, type ErrorCode, type TaskErrorCode } from '@kinora/contract/errors'
import type { Quote } from '@kinora/contract/operations/account'
import { ChatBody, type ChatChunk, type ChatCompletion } from '@kinora/contract/operations/chat'

import type { Call, Reply } from '../http/call.ts'
import type { EventStream, SentEvent } from '../http/sse.ts'
import { deprecationHeaders } from '../models/deprecation.ts'
import { frameOf } from '../models/frame.ts'
import type { VideoModel } from '../models/model.ts'
import { withFinalizer } from '../platform/streams/with-finalizer.ts'
import type { LinkSigner } from '../storage/signed-link.ts'
import type { CancelTask } from '../videos/api/cancel-video.ts'
import type { ReadTask } from '../videos/api/read-task.ts'
import { imageHeadBytes, imageSizeOf } from '../videos/images/image-size.ts'
import {
  tryImages,
  withImages,
  type ImageDependencies,
  type StoredImage,
} from '../videos/images/reference-image.ts'
import type { FollowTask } from '../videos/lifecycle/follow-task.ts'
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
  /** How long a reply that is not streamed waits for its video. */
  waitMs: number
}

/** The task a reply tells of, and nothing else of its request: a reply may live much longer than that. */
interface Told {
  id: string
  day: string
  accountId: string
  model: string
  created: number
  /** What follows each line, so that a client that joins the pieces shows lines. */
  lineEnd: '' | '\n'
  /** End the task when its caller goes away before its end. */
  isCancelledWithCaller: boolean
}

const orientationOf = async (
  { mediaStore }: ImageDependencies,
  image: StoredImage | undefined,
): Promise<'landscape' | 'portrait'> => {
  if (image === undefined) return 'landscape'
  const chunks: Buffer[] = []
  const head = await mediaStore.open(image.storageKey, { start: 0, end: imageHeadBytes - 1 })
  for await (const chunk of (head ?? []) as AsyncIterable<Buffer>) chunks.push(chunk)
  const size = imageSizeOf(image.contentType, Buffer.concat(chunks))
  return size !== undefined && size.height > size.width ? 'portrait' : 'landscape'
}

/** The order a conversation is, given to `work` with its pictures. */
const ordered = async <Result>(
  images: ImageDependencies,
  call: Call,
  model: VideoModel,
  work: (admission: Parameters<AdmitVideo>[0]) => Promise<Result>,
): Promise<Result> => {
  const { caller, signal } = call
  const asked = await readVideoPrompt(call, model.referencesMax)
  const takeImages = call.wantsQuote ? tryImages : withImages
  return takeImages(images, asked.images, signal, async (stored) => {
    const order = {
      prompt: asked.prompt,
      seconds: model.defaultSeconds,
      ...frameOf('small', await orientationOf(images, stored[0])),
      watermark: true,
      isPrivate: false,
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
  // What is told of a task can be told again, and is by then further on.
  const responseToStore = (task: VideoTask) =>
    call.responseToStore(task.id, { headers: deprecationHeaders(model), body: undefined })
  const task =
    replayOf === undefined
      ? await ordered(images, call, model, (admission) => admitVideo({ ...admission, responseToStore }))
      : await readTask(replayOf, caller.accountId)
  call.note({ taskId: task.id })
  return task
}

/** The lines an event is told in. Progress only ever grows, and is whole before there is a link. */
const createTeller = (taskId: string, links: LinkSigner) => {
  let shown = -1
  const grown = (progress: number) => {
    if (progress <= shown) return []
    shown = progress
    return [`progress: ${progress}%`]
  }
  return ({ kind, data }: TaskEvent): string[] => {
    if (kind === 'accepted') return [`task_id: ${taskId}`]
    if (kind === 'completed') {
      return [...grown(100), `video_url: ${links.link(data.mediaId ?? '', 'video.mp4')}`]
    }
    return kind === 'failed' ? [] : grown(data.progress ?? 0)
  }
}

/** Settings of a text reply: a wrong value is refused as for any model, and a right one changes nothing. */
const settingsOfText = ['temperature', 'top_p', 'max_tokens', 'max_completion_tokens'] as const

/** The code a request is answered with for a task that failed; a reason that only ends tasks has a neighbour. */
const codeOfAnswer = (code: TaskErrorCode): ErrorCode => {
  if (code === 'task_timeout') return 'upstream_error'
  return code === 'task_cancelled' ? 'task_failed' : code
}

const failureOf = ({ data }: TaskEvent) => {
  const code = data.code ?? 'upstream_error'
  const answered = codeOfAnswer(code)
  return { code, answered, message: data.message ?? errors[answered].message, type: errors[answered].type }
}

const chunkOf = (told: Told, line: string): ChatChunk => ({
  id: `chatcmpl-${told.id}`,
  object: 'chat.completion.chunk',
  created: told.created,
  model: told.model,
  choices: [
    {
      index: 0,
      // Client libraries that put the message together want to hear once who speaks.
      delta: {
        ...(line.startsWith('task_id:') && { role: 'assistant' }),
        content: `${line}${told.lineEnd}`,
      },
      finish_reason: line.startsWith('video_url:') ? 'stop' : null,
    },
  ],
})

const errorEvent = (error: { message: string; type: string; code: string }): SentEvent => ({
  data: JSON.stringify({ error: { message: error.message, type: error.type, code: error.code } }),
})

const isLeftByCaller = (signal: AbortSignal) => signal.aborted && !(signal.reason instanceof ApiError)

const sentFor = (told: Told, event: TaskEvent, lines: string[]): SentEvent[] => {
  if (event.kind === 'failed') return [{ ...errorEvent(failureOf(event)), id: event.id }]
  return lines.map((line, index) => ({
    // Only the last line of an event names it: who heard less of it has not had it yet.
    ...(index === lines.length - 1 && { id: event.id }),
    data: JSON.stringify(chunkOf(told, line)),
  }))
}

const stream = (
  { follow, links, cancelTask }: ReplyDependencies,
  told: Told,
  signal: AbortSignal,
): EventStream => {
  const linesOf = createTeller(told.id, links)
  let isOver = false
  async function* events(): EventStream {
    for await (const event of follow(told, 0, signal)) yield* sentFor(told, event, linesOf(event))
    isOver = !isLeftByCaller(signal)
    if (signal.reason instanceof ApiError) {
      yield errorEvent({
        code: signal.reason.code,
        type: errors[signal.reason.code].type,
        message: `The server is being restarted. The task goes on: follow it at /v1/videos/${told.id}/events.`,
      })
    }
    yield { data: '[DONE]' }
  }
  return withFinalizer(events(), async () => {
    // A process that is about to close leaves its callers, and not they it.
    const isLeft = !isOver && !(signal.reason instanceof ApiError)
    if (told.isCancelledWithCaller && isLeft) await cancelTask(told.id, told.accountId)
  })
}

const wait = async (
  { follow, links, cancelTask }: ReplyDependencies,
  told: Told,
  gone: AbortSignal,
  waitMs: number,
): Promise<ChatCompletion> => {
  const linesOf = createTeller(told.id, links)
  const lines = new Map([
    ['task_id', `task_id: ${told.id}`],
    ['progress', 'progress: 0%'],
  ])
  const signal = AbortSignal.any([gone, AbortSignal.timeout(waitMs)])
  for await (const event of follow(told, 0, signal)) {
    if (event.kind === 'failed') {
      const { answered, message } = failureOf(event)
      // Trying again would be a second task, and nobody asked for that.
      throw new ApiError(answered, { message, headers: { 'x-should-retry': 'false' } })
    }
    for (const line of linesOf(event)) lines.set(line.slice(0, line.indexOf(':')), line)
  }
  if (told.isCancelledWithCaller && isLeftByCaller(gone)) await cancelTask(told.id, told.accountId)
  return {
    id: `chatcmpl-${told.id}`,
    object: 'chat.completion',
    created: told.created,
    model: told.model,
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

/** A client library that gives up waiting sends the request again, and that would be a second video. */
const patienceMs = ({ header }: Call, waitMs: number): number => {
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
    const headers = deprecationHeaders(model)
    if (call.wantsQuote) return { headers, body: await ordered(images, call, model, admitVideo.quote) }
    const task = await accept(dependencies, call, model)
    const told: Told = {
      id: task.id,
      day: task.day,
      accountId: task.accountId,
      model: model.id,
      created: Math.floor(task.createdAt.getTime() / 1000),
      lineEnd: call.isUnderOpenAi ? '\n' : '',
      isCancelledWithCaller: call.header('x-cancel-on-disconnect')?.trim().toLowerCase() === 'true',
    }
    const reply = { follow, links, cancelTask }
    return body.stream === true
      ? { headers, body: stream(reply, told, call.waitSignal()) }
      : { headers, body: await wait(reply, told, call.waitSignal(), patienceMs(call, waitMs)) }
  }
