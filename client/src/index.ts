import { createMethods } from './create-methods.ts'
import { finishVideo, followVideo, type FinishedVideo, type FollowOptions } from './follow-video.ts'
import { methodTable } from './generated/method-table.ts'
import type { CreateVideoParams, Methods, RemixVideoParams, Video } from './generated/types.ts'
import { openTransport, type KinoraOptions } from './settings.ts'
import type { RequestOptions } from './transport.ts'
import { verifyWebhook } from './verify-webhook.ts'

export type { FinishedVideo, FollowOptions, VideoProgress } from './follow-video.ts'
export type * from './generated/types.ts'
export type { ErrorCode, TaskErrorCode } from './generated/error-codes.ts'
export type { EventStream } from './event-stream.ts'
export {
  isKinoraError,
  KinoraError,
  type ClientErrorCode,
  type KinoraErrorCode,
  type KinoraErrorDetails,
} from './kinora-error.ts'
export type { List } from './list.ts'
export type { MediaFile } from './media-file.ts'
export type { KinoraOptions } from './settings.ts'
export type { RequestOptions } from './transport.ts'
export type { Upload } from './upload.ts'
export { verifyWebhook, type WebhookHeaders, type WebhookKeys } from './verify-webhook.ts'

interface VideoMethods {
  /** Creates a video, follows it to its end, and returns it. Throws if it fails. */
  run(params: CreateVideoParams & FollowOptions, options?: RequestOptions): Promise<FinishedVideo>
  /** The same for a remix of a completed video. */
  runRemix(
    id: string,
    params: RemixVideoParams & FollowOptions,
    options?: RequestOptions,
  ): Promise<FinishedVideo>
  /** Follows a video to its end, and returns it. Throws if it fails. */
  watch(id: string, options?: FollowOptions): Promise<FinishedVideo>
}

/** A client of the public API. */
export type Kinora = Methods & {
  videos: VideoMethods
  webhooks: { verify: typeof verifyWebhook }
  /** The address of the service. */
  readonly baseUrl: string
}

const createKinora = (options: KinoraOptions = {}): Kinora => {
  const { baseUrl, send } = openTransport(options)
  const methods = createMethods<Methods>(methodTable, send)
  const { videos, webhooks } = methods

  const watch = async (id: string, following: FollowOptions = {}) =>
    finishVideo(videos, await followVideo(send, id, following), following.signal)
  const run = async (
    create: (withSignal: RequestOptions) => Promise<Video>,
    following: FollowOptions,
    given: RequestOptions = {},
  ) => {
    const signal = following.signal ?? given.signal
    const chosen = { ...following, ...(signal !== undefined && { signal }) }
    const created = await create({ ...given, ...(signal !== undefined && { signal }) })
    following.onProgress?.(created)
    return await watch(created.id, chosen)
  }
  const added: VideoMethods = {
    watch,
    run: ({ onProgress, signal, ...params }, given) =>
      run(
        (chosen) => videos.create(params, chosen),
        { ...(onProgress && { onProgress }), ...(signal && { signal }) },
        given,
      ),
    runRemix: (id, { onProgress, signal, ...params }, given) =>
      run(
        (chosen) => videos.remix(id, params, chosen),
        { ...(onProgress && { onProgress }), ...(signal && { signal }) },
        given,
      ),
  }
  return {
    ...methods,
    baseUrl,
    videos: Object.assign(videos, added),
    webhooks: Object.assign(webhooks, { verify: verifyWebhook }),
  }
}

/** A client of the public API: `new Kinora({ baseUrl, apiKey })`. */
export const Kinora = function (options?: KinoraOptions) {
  return createKinora(options)
} as unknown as new (options?: KinoraOptions) => Kinora
