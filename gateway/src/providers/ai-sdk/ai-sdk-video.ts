/**
 * Adapter for video models of the AI SDK. A package builds requests and reads responses, but all traffic passes through
 * our own `fetch`, so that timeouts, limits and the classification of failures are the same as everywhere else.
 */
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'

import type {
  Experimental_VideoModelV4 as VideoModel,
  Experimental_VideoModelV4CallOptions as CallOptions,
  Experimental_VideoModelV4OperationStatusResult as StatusResult,
  Experimental_VideoModelV4VideoData as VideoData,
  SharedV4ProviderOptions as ProviderOptions,
} from '@ai-sdk/provider'

import { refusalCodeOfSentence } from '../kit/http/refusal-message.ts'
import { type FetchTrail, upstreamFetch } from '../kit/http/upstream-fetch.ts'
import { member, textOf } from '../kit/json/lenient-json.ts'
import { areFrames, inOrder } from '../kit/video/image-order.ts'
import { aspectRatioOf } from '../kit/video/size-terms.ts'
import { ProviderFailure } from '../port/failure.ts'
import type {
  Opaque,
  ReferenceFile,
  RefusalCode,
  VideoJob,
  VideoJobStatus,
  VideoProvider,
} from '../port/video.ts'
import { factoryOf, type Load, loadInstalled, misfit } from './ai-sdk-package.ts'

export interface AiSdkSettings {
  baseUrl: string
  apiKey: string | undefined
  connections: number
  traceparent?: boolean | undefined
  resultOrigins: string[]
  package: string
  factory?: string
  options: Record<string, unknown>
  providerOptions: Record<string, Record<string, unknown>>
  frame: 'aspectRatio' | 'resolution' | 'both'
  answerMegabytes: number
}

const refusalCodes: RefusalCode[] = ['content_policy_violation', 'invalid_image', 'invalid_parameter']

/** A model with asynchronous jobs. */
type StartingModel = VideoModel & Required<Pick<VideoModel, 'doStart' | 'doStatus'>>

interface SdkProvider {
  videoModel?: (id: string) => VideoModel
  video?: (id: string) => VideoModel
}

export function aiSdkVideo(settings: AiSdkSettings, load: Load = loadInstalled): VideoProvider {
  const upstream = upstreamFetch({
    ...settings,
    secrets: settings.apiKey === undefined ? [] : [settings.apiKey],
    answerBytesMax: settings.answerMegabytes * 1024 * 1024,
  })

  /** Created for every call, so that each has its own record of requests. */
  async function modelFor(id: string, { fetch }: FetchTrail): Promise<StartingModel> {
    const make = await factoryOf(settings, load)
    // Packages use one of two names for the key. Without a value they would read it from our environment.
    const key = settings.apiKey ?? ''
    const options = { apiKey: key, apiToken: key, baseURL: settings.baseUrl, fetch }
    let model: VideoModel | undefined
    try {
      const provider = make({ ...settings.options, ...options }) as SdkProvider
      model = (provider.videoModel ?? provider.video)?.call(provider, id)
    } catch (error) {
      throw misfit(`${settings.package} refused its options or the model: ${nameOf(error)}`)
    }
    if (model === undefined) throw misfit(`${settings.package} makes no videos`)
    if (!isStarting(model)) {
      throw misfit(
        `${settings.package} makes this model's videos within one call, and with the process the job would be lost. ` +
          'It needs a model that has doStart and doStatus',
      )
    }
    return model
  }

  async function submit(job: VideoJob, signal: AbortSignal): Promise<Opaque> {
    if (job.source !== undefined) throw misfit('the AI SDK has no remix')
    const trail = upstream.trail('submit', signal)
    const model = await modelFor(job.model, trail)
    const options = { ...(await optionsOf(job, settings)), abortSignal: signal }
    try {
      const { operation } = await model.doStart(options)
      return { model: job.model, operation: operation as Opaque }
    } catch (error) {
      throw submitFailure(trail, error)
    }
  }

  async function readStatus(ref: Opaque, what: string, signal: AbortSignal) {
    const { model: id, operation } = jobOf(ref)
    const trail = upstream.trail(what, signal)
    const model = await modelFor(id, trail)
    try {
      return { trail, status: await model.doStatus({ operation, abortSignal: signal }) }
    } catch (error) {
      return { trail, status: endIn(trail, error) }
    }
  }

  async function poll(ref: Opaque, signal: AbortSignal): Promise<VideoJobStatus> {
    const { trail, status } = await readStatus(ref, 'poll', signal)
    if (trail.lastStatus() === 404) return { kind: 'missing' }
    if (status.status === 'pending') return { kind: 'running', progress: undefined }
    if (status.status === 'completed') {
      const result = resultOf(status.videos[0])
      if (result !== undefined) return { kind: 'done', result }
      return { kind: 'refused', code: 'upstream_error', message: 'no output' }
    }
    return refusalOf(status.error, trail)
  }

  /** Some packages report a failed job when the vendor did not respond or was busy. */
  function refusalOf(sentence: string, trail: FetchTrail): VideoJobStatus {
    const failure = trail.lastFailure()
    if (failure === undefined) {
      return { kind: 'refused', code: refusalCodeOfSentence(sentence), message: upstream.redact(sentence) }
    }
    const isAboutJob = [400, 409, 410, 422].includes(trail.lastStatus() ?? 0)
    if (!isAboutJob) throw failure
    const code = refusalCodes.find((each) => each === failure.code) ?? refusalCodeOfSentence(sentence)
    return { kind: 'refused', code, message: failure.message }
  }

  async function openResult(ref: Opaque, result: Opaque, signal: AbortSignal): Promise<Readable> {
    const url = textOf(member(result, 'url'))
    if (url !== undefined) return upstream.openLink({ what: 'download', url, signal })
    if (member(result, 'isInline') !== true) throw notOurs()
    const { status } = await readStatus(ref, 'download', signal)
    const video = status.status === 'completed' ? status.videos[0] : undefined
    if (video?.type === 'base64')
      return Readable.from([Buffer.from(video.data, 'base64')], { objectMode: false })
    if (video?.type === 'binary') return Readable.from([Buffer.from(video.data)], { objectMode: false })
    throw new ProviderFailure('unknown', 'download found no video')
  }

  return {
    submitsAreIdempotent: false,
    canRemix: false,
    canChooseSound: () => true,
    submit,
    poll,
    openResult,
  }
}

function isStarting(model: VideoModel): model is StartingModel {
  return typeof model.doStart === 'function' && typeof model.doStatus === 'function'
}

function notOurs(): ProviderFailure {
  return misfit('not a reference of this provider')
}

/** Errors of a package may contain a prompt or a URL, so only their name is used. */
function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'error'
}

/** Once a request other than a GET succeeded, a job may exist whatever failed later. */
function submitFailure(trail: FetchTrail, error: unknown): ProviderFailure {
  const failure = trail.lastFailure()
  if (failure !== undefined && !trail.hasSent()) return failure
  if (trail.hasSent())
    return new ProviderFailure('unknown', `submit was answered, and then failed: ${nameOf(error)}`)
  return misfit(`the package refused the job: ${nameOf(error)}`)
}

/** A package throws if the vendor reports a finished job without a video; any other error is a failure. */
function endIn(trail: FetchTrail, error: unknown): StatusResult {
  const failure = trail.lastFailure()
  const response = { timestamp: new Date(), modelId: '', headers: undefined }
  const isEnd = failure === undefined && /_VIDEO_GENERATION_(ERROR|FAILED)$/.test(nameOf(error))
  if (isEnd || trail.lastStatus() === 404) return { status: 'error', error: 'no output', response }
  throw failure ?? new ProviderFailure('unknown', `poll cannot be read: ${nameOf(error)}`)
}

function jobOf(ref: Opaque): { model: string; operation: Opaque } {
  const model = textOf(member(ref, 'model'))
  const operation = member(ref, 'operation')
  if (model === undefined || operation === undefined) throw notOurs()
  return { model, operation: operation as Opaque }
}

/** A video inside a response is too large to store in between, so it is requested again for the download. */
function resultOf(video: VideoData | undefined): Opaque | undefined {
  if (video?.type === 'url') return { url: video.url }
  return video?.type === 'base64' || video?.type === 'binary' ? { isInline: true } : undefined
}

async function optionsOf(job: VideoJob, settings: AiSdkSettings): Promise<CallOptions> {
  const images = await Promise.all(inOrder(job.references).map(fileOf))
  const [first, last] = images
  const isFrames = areFrames(job.references) && images.length === 2
  return {
    prompt: job.prompt,
    n: 1,
    aspectRatio: settings.frame === 'resolution' ? undefined : aspectRatioOf(job),
    resolution: settings.frame === 'aspectRatio' ? undefined : `${job.width}x${job.height}`,
    duration: job.seconds,
    fps: undefined,
    seed: undefined,
    image: images.length === 1 ? first : undefined,
    frameImages:
      isFrames && first !== undefined && last !== undefined
        ? [
            { image: first, frameType: 'first_frame' },
            { image: last, frameType: 'last_frame' },
          ]
        : undefined,
    inputReferences: images.length > 1 && !isFrames ? images : undefined,
    generateAudio: job.sound,
    providerOptions: settings.providerOptions as ProviderOptions,
    headers: { 'idempotency-key': job.taskId },
  }
}

/** The AI SDK needs images as buffers. */
async function fileOf({ contentType, open }: ReferenceFile) {
  try {
    const data = new Uint8Array(await buffer(await open()))
    return { type: 'file' as const, mediaType: contentType, data }
  } catch (error) {
    throw new ProviderFailure('not_delivered', `an image could not be read: ${nameOf(error)}`)
  }
}
