/** Follows a video to its end: by its events, or by long polling where a stream does not come through. */
import { isInterruption, readEventBody, readEvents } from './event-stream.ts'
import type { Methods, Video, VideoEvent } from './generated/types.ts'
import { KinoraError, readErrorBody } from './kinora-error.ts'
import type { Send } from './transport.ts'
import { backoffMs, wait } from './wait.ts'

/** The state of a video: with a place in the queue and the time left while they are known. */
export type VideoProgress = VideoEvent

export interface FollowOptions {
  /** Called with every new state of the video, the first of which has its id. */
  onProgress?: (video: VideoProgress) => void
  /** Stops following. The video is still made; `videos.cancel` cancels it. */
  signal?: AbortSignal
}

/** After so many streams without an event, the video is polled. */
const silentStreamsMax = 3
/** The service sends something within 15 seconds. A proxy that collects the response does not pass it on. */
const firstByteMsMax = 20_000
const pollSecondsMax = 25
/** Beyond these times of the service, its response is lost in between. */
const graceMs = 30_000
const waitMsMax = 60_000
/** A response that comes sooner did not wait, perhaps because of something in between. */
const earlyMs = 1_000
/** How long the service may be unreachable. */
const outageMsMax = 300_000

const isEnded = ({ status }: Video) => status === 'completed' || status === 'failed'

/** A range in a header, such as `3-12`. */
const readRange = (text: string | null): { min: number; max: number } | undefined => {
  const [, min, max] = /^(\d+)-(\d+)$/.exec(text ?? '') ?? []
  return min === undefined ? undefined : { min: Number(min), max: Number(max) }
}

/** After how many milliseconds the service suggests to read again. */
const readPollAfterMs = ({ headers }: Response): number => {
  const seconds = Number(headers.get('x-poll-after') ?? Number.NaN)
  return Number.isFinite(seconds) ? Math.min(Math.max(seconds * 1000, earlyMs), waitMsMax) : earlyMs
}

const readPolled = async (response: Response): Promise<{ video: VideoProgress; pollAfterMs: number }> => {
  const place = readRange(response.headers.get('x-queue-position'))
  const left = readRange(response.headers.get('x-time-left'))
  const video = {
    ...((await response.json()) as Video),
    ...(place !== undefined && { queue_position: place }),
    ...(left !== undefined && { time_left_seconds: left }),
  }
  return { video, pollAfterMs: readPollAfterMs(response) }
}

/** The video when it has ended. */
export const followVideo = async (
  send: Send,
  id: string,
  { onProgress, signal }: FollowOptions,
): Promise<VideoProgress> => {
  const path = `/v1/videos/${encodeURIComponent(id).replaceAll('%3A', ':')}`
  const options = { maxRetries: 0, ...(signal !== undefined && { signal }) }
  const request = { method: 'GET', isRepeatable: true, options }
  let lastEventId: string | undefined
  let silentStreams = 0
  let failures = 0
  // The first poll must not wait for a change that has already happened.
  let pollSeconds = 0
  let failingSinceMs: number | undefined

  const onAlive = () => {
    failures = 0
    failingSinceMs = undefined
  }
  const readStream = async (): Promise<VideoProgress | undefined> => {
    // Reset by an event.
    silentStreams += 1
    const headers = {
      accept: 'text/event-stream',
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    }
    const body = await send(
      {
        ...{ ...request, path: `${path}/events`, headers, isStreamed: true },
        options: { ...options, timeoutMs: graceMs },
      },
      readEventBody,
    )
    // Nothing follows the last event, so the video has ended.
    if (body === undefined) return await poll(0)
    for await (const { id: eventId, event, data } of readEvents(body, firstByteMsMax)) {
      if (event === 'error') throw readErrorBody(data ?? '', { status: 403 })
      if (data === undefined) continue
      silentStreams = 0
      onAlive()
      const video = JSON.parse(data) as VideoProgress
      lastEventId = eventId ?? lastEventId
      onProgress?.(video)
      if (isEnded(video)) return video
    }
    return undefined
  }
  const poll = async (seconds: number): Promise<VideoProgress | undefined> => {
    const startedMs = performance.now()
    const { video, pollAfterMs } = await send(
      {
        ...{ ...request, path: `${path}?wait=${seconds}&until=change` },
        options: { ...options, timeoutMs: seconds * 1000 + graceMs },
      },
      readPolled,
    )
    onAlive()
    const isEarly = seconds > 0 && performance.now() - startedMs < earlyMs
    onProgress?.(video)
    if (isEarly && !isEnded(video)) await wait(pollAfterMs, signal)
    pollSeconds = pollSecondsMax
    return isEnded(video) ? video : undefined
  }

  for (;;) {
    signal?.throwIfAborted()
    try {
      const ended = silentStreams < silentStreamsMax ? await readStream() : await poll(pollSeconds)
      if (ended !== undefined) return ended
    } catch (error) {
      signal?.throwIfAborted()
      failingSinceMs ??= performance.now()
      const isOutage = performance.now() - failingSinceMs > outageMsMax
      if (!isInterruption(error) || isOutage) throw Object.assign(error as Error, { taskId: id })
      const askedMs = error.retryAfter === undefined ? 0 : error.retryAfter * 1000
      pollSeconds = 0
      await wait(Math.max(Math.min(askedMs, waitMsMax), backoffMs(failures) / 2), signal)
      failures += 1
    }
  }
}

/** A completed video with its file. */
export type FinishedVideo = Video & {
  /** Signed link to the file, which works without a key until it expires. */
  readonly url: string
  /** Writes the file, in Node, Bun and Deno. */
  save(path: string): Promise<void>
  /** The bytes of the file as they arrive. */
  stream(): Promise<ReadableStream<Uint8Array>>
  blob(): Promise<Blob>
}

/** Adds the file to a video that has ended, or throws why it failed. The methods do not show in JSON. */
export const finishVideo = (
  videos: Methods['videos'],
  ended: VideoProgress,
  signal?: AbortSignal,
): FinishedVideo => {
  const { queue_position: _place, time_left_seconds: _left, ...video } = ended
  if (video.status === 'failed') {
    const { code = 'upstream_error', message = 'The video failed.' } = video.error ?? {}
    throw new KinoraError(code, message, { taskId: video.id })
  }
  const open = () => videos.content(video.id, {}, signal === undefined ? {} : { signal })
  const methods = {
    get url() {
      return video.video_url ?? ''
    },
    save: async (path: string) => (await open()).save(path),
    stream: async () => (await open()).stream(),
    blob: async () => (await open()).blob(),
  }
  return Object.assign(Object.create(methods) as typeof methods, video)
}
