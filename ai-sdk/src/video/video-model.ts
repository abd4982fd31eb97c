/**
 * The video model of the SDK. It has no `doGenerate`, so the SDK always starts a task and reads it: an attempt to start has
 * an idempotency key, and a lost connection loses no video.
 */
import {
  InvalidArgumentError,
  type Experimental_VideoModelV4 as VideoModelV4,
  type Experimental_VideoModelV4OperationStatusResult as StatusResult,
  type Experimental_VideoModelV4VideoData as VideoData,
  type JSONObject,
  type JSONValue,
} from '@ai-sdk/provider'
import {
  createBinaryResponseHandler,
  encodePathSegment,
  getFromApi,
  postFormDataToApi,
  postJsonToApi,
  removeUndefinedEntries,
  validateDownloadUrl,
} from '@ai-sdk/provider-utils'
import type { OpenAiVideo } from '@kinora/contract/operations/video-fields'

import { responseWith, type Connection, type KinoraProviderSettings } from '../connection.ts'
import { withIdempotencyKey } from '../idempotency-key.ts'
import type { ReadModelFacts } from '../model-facts.ts'
import { ignoredParameters } from '../warnings.ts'
import { buildVideoRequest } from './build-video-request.ts'

type StatusOptions = Parameters<NonNullable<VideoModelV4['doStatus']>>[0]

interface VideoModelParts {
  connection: Connection
  readModelFacts: ReadModelFacts
  videoResult: NonNullable<KinoraProviderSettings['videoResult']>
}

const mediaType = 'video/mp4'

const idOf = (operation: JSONValue): string => {
  if (typeof operation === 'object' && operation !== null && 'id' in operation) {
    const { id } = operation
    if (typeof id === 'string') return id
  }
  throw new InvalidArgumentError({
    argument: 'operation',
    message: "The operation has no 'id'. Pass what experimental_startVideo returned.",
  })
}

/** Whether the SDK refuses to download it. A host without a dot, such as that of a container, has a private address. */
const isPrivate = (url: string): boolean => {
  try {
    validateDownloadUrl(url)
    return !new URL(url).hostname.includes('.') && !url.includes('[')
  } catch {
    return true
  }
}

const metadataOf = (video: OpenAiVideo): JSONObject =>
  removeUndefinedEntries({
    id: video.id,
    status: video.status,
    progress: video.progress,
    queuePosition: video.queue_position,
    timeLeftSeconds: video.time_left_seconds,
    ...(video.status === 'completed' && {
      videos: [
        {
          id: video.id,
          url: video.video_url,
          seconds: Number(video.seconds),
          size: video.size,
          expiresAt: video.expires_at,
        },
      ],
    }),
    ...(video.status === 'failed' && video.error && { error: video.error }),
  })

export const createVideoModel = (
  modelId: string,
  { connection, readModelFacts, videoResult }: VideoModelParts,
): VideoModelV4 => {
  const responseOf = (headers: Record<string, string> | undefined) => ({
    ...{ timestamp: new Date(), modelId, headers },
  })

  const resultOf = async (video: OpenAiVideo, options: StatusOptions): Promise<VideoData> => {
    const url = video.video_url ?? ''
    if (videoResult === 'url' || (videoResult === 'auto' && !isPrivate(url)))
      return { type: 'url', url, mediaType }
    const { value: data } = await getFromApi({
      ...connection.requestOf(options),
      url: connection.urlOf(`/videos/${encodePathSegment(video.id)}/content?variant=video`),
      validateUrl: false,
      successfulResponseHandler: createBinaryResponseHandler(),
    })
    return { type: 'binary', data, mediaType }
  }

  return {
    specificationVersion: 'v4',
    provider: 'kinora.video',
    modelId,
    maxVideosPerCall: 1,

    handleWebhookOption: async ({ webhook }) => {
      const { url, received } = await webhook()
      return { webhookUrl: url, received }
    },

    doStart: async (options) => {
      const facts = await readModelFacts(modelId, options)
      const { path, body, idempotencyKey, warnings } = buildVideoRequest(modelId, facts, options)
      const request = {
        ...connection.requestOf({ ...options, headers: withIdempotencyKey(options.headers, idempotencyKey) }),
        url: connection.urlOf(path),
        successfulResponseHandler: responseWith<Pick<OpenAiVideo, 'id' | 'status'>>('id', 'status'),
      }
      const { value, responseHeaders } =
        body instanceof FormData
          ? await postFormDataToApi({ ...request, formData: body })
          : await postJsonToApi({ ...request, body })
      return {
        operation: { id: value.id },
        warnings: [...warnings, ...ignoredParameters(responseHeaders)],
        providerMetadata: { kinora: { id: value.id, status: value.status } },
        response: responseOf(responseHeaders),
      }
    },

    // An error of the request is thrown, so that the SDK repeats it: only the task itself can fail.
    doStatus: async (options): Promise<StatusResult> => {
      const { value: video, responseHeaders } = await getFromApi({
        ...connection.requestOf(options),
        url: connection.urlOf(`/videos/${encodePathSegment(idOf(options.operation))}`),
        validateUrl: false,
        successfulResponseHandler: responseWith<OpenAiVideo>('id', 'status'),
      })
      const shared = {
        providerMetadata: { kinora: metadataOf(video) },
        response: responseOf(responseHeaders),
      }
      if (video.status === 'failed') {
        const { code, message } = video.error ?? { code: 'upstream_error', message: 'The video has failed.' }
        return { ...shared, status: 'error', error: `${message} (${code})` }
      }
      if (video.status !== 'completed') return { ...shared, status: 'pending' }
      return { ...shared, status: 'completed', videos: [await resultOf(video, options)], warnings: [] }
    },
  }
}
