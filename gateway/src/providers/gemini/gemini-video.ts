import type { Readable } from 'node:stream'

import { decodeBase64, NotBase64 } from '../../platform/streams/base64.ts'
import { type InsertedText, jsonWithTexts } from '../kit/http/json-with-texts.ts'
import { jsonBody } from '../kit/http/multipart.ts'
import { refusalCodeOf } from '../kit/http/vendor-error.ts'
import { type JsonToken, jsonTokens } from '../kit/json/json-tokens.ts'
import { member, numberOf, textOf } from '../kit/json/lenient-json.ts'
import { derivedStream } from '../kit/streams/derived-stream.ts'
import { areFrames, inOrder } from '../kit/video/image-order.ts'
import { base64Of } from '../kit/video/image-text.ts'
import { aspectRatioOf } from '../kit/video/size-terms.ts'
import { ProviderFailure } from '../port/failure.ts'
import type { Opaque, ReferenceFile, VideoJob, VideoJobStatus, VideoProvider } from '../port/video.ts'
import { geminiApi, type GeminiSettings } from './gemini-api.ts'
import { vendorErrorOf, errorIn, failureOfGemini } from './gemini-failure.ts'

export interface GeminiVideoSettings extends GeminiSettings {
  /** If undefined, the model decides. */
  generateAudio?: boolean | undefined
  personGeneration?: string | undefined
}

/** Member names of a video inside a response. */
const inlineNames = new Set(['bytesBase64Encoded', 'encodedVideo', 'videoBytes', 'video'])

const surelyVideoBytes = 256 * 1024

/** The protocol of long-running operations. */
export function geminiVideo(settings: GeminiVideoSettings): VideoProvider {
  const { upstream, pathOf, authorization } = geminiApi(settings)
  const isEnterprise = settings.api === 'enterprise'

  async function submit(job: VideoJob, signal: AbortSignal): Promise<Opaque> {
    if (job.source !== undefined) {
      throw new ProviderFailure('rejected', 'this protocol has no remix', { code: 'upstream_error' })
    }
    const path = pathOf(job.model, 'predictLongRunning')
    const answer = await upstream.callJson({
      what: 'submit',
      method: 'POST',
      path,
      headers: await authorization(signal),
      body: jsonWithTexts((insert) => ({
        instances: [{ prompt: job.prompt, ...imagesOf(job, insert) }],
        parameters: {
          sampleCount: 1,
          durationSeconds: job.seconds,
          aspectRatio: aspectRatioOf(job),
          resolution: resolutionOf(job),
          personGeneration: settings.personGeneration,
          // The developer API refuses this field; its models decide.
          ...(isEnterprise && { generateAudio: job.sound ?? settings.generateAudio }),
        },
      })),
      // The protocol has no idempotency key.
      freshConnection: true,
      signal,
    })
    const name = textOf(member(answer.body, 'name'))
    if (name !== undefined) return { name }
    if (errorIn(answer.body) !== undefined) {
      throw failureOfGemini({ ...answer, what: 'submit', status: 400 }, upstream.redact)
    }
    throw new ProviderFailure('unknown', 'submit answered without the name of an operation')
  }

  /** Reads an operation as a stream, because it may contain a whole video; returns undefined if there is none. */
  async function openOperation(what: string, ref: Opaque, signal: AbortSignal) {
    const { path, body } = isEnterprise ? enterpriseOperation(ref) : developerOperation(ref)
    const { status, bytes } = await upstream.openAnswer({
      what,
      method: body === undefined ? 'GET' : 'POST',
      path,
      headers: await authorization(signal),
      ...(body !== undefined && { body: jsonBody(body) }),
      alsoFine: [404],
      acceptsJson: true,
      signal,
    })
    if (status !== 404) return { bytes, chunks: jsonTokens(bytes, inlineNames, what) }
    bytes.destroy()
    return undefined
  }

  async function poll(ref: Opaque, signal: AbortSignal): Promise<VideoJobStatus> {
    const opened = await openOperation('poll', ref, signal)
    if (opened === undefined) return { kind: 'missing' }
    try {
      let streamedBytes = 0
      for await (const chunk of opened.chunks) {
        if (chunk.kind === 'text') streamedBytes += chunk.bytes.length
        else if (chunk.value !== undefined) return statusOf(chunk.value)
        // Only a finished operation with a video is this long, so the rest need not be read.
        if (streamedBytes > surelyVideoBytes) return { kind: 'done', result: { inline: true } }
      }
    } finally {
      opened.bytes.destroy()
    }
    throw new ProviderFailure('unknown', 'poll answered without JSON')
  }

  function statusOf(operation: unknown): VideoJobStatus {
    if (String(member(operation, 'done')) !== 'true') {
      const isOperation =
        textOf(member(operation, 'name')) !== undefined || member(operation, 'done') !== undefined
      if (!isOperation) throw new ProviderFailure('unknown', 'poll answered without an operation')
      return { kind: 'running', progress: undefined }
    }
    const error = errorIn(operation)
    if (error !== undefined) {
      const vendorError = vendorErrorOf(error)
      const message = [vendorError?.code, vendorError?.message]
        .filter((part) => part !== undefined)
        .join(': ')
      return { kind: 'refused', code: refusalCodeOf(vendorError), message: upstream.redact(message) }
    }
    const response = member(operation, 'response')
    const result = resultIn(response)
    if (result !== undefined) return { kind: 'done', result }
    return { kind: 'refused', ...reasonIn(response, upstream.redact) }
  }

  async function openResult(ref: Opaque, result: Opaque, signal: AbortSignal): Promise<Readable> {
    const url = textOf(member(result, 'uri'))
    if (url !== undefined) return upstream.openLink({ what: 'download', url, signal })
    const opened = await openOperation('download', ref, signal)
    if (opened === undefined) {
      throw new ProviderFailure('rejected', 'download found no operation', { code: 'upstream_error' })
    }
    return derivedStream(opened.bytes, videoIn(opened.chunks))
  }

  return {
    submitsAreIdempotent: false,
    canRemix: false,
    canChooseSound: () => isEnterprise,
    submit,
    poll,
    openResult,
  }
}

/**
 * One image is the first frame, two are first and last frame, several are references. Characters can only be references;
 * if the images are frames, characters stay in the prompt as text.
 */
function imagesOf(job: VideoJob, insert: (text: InsertedText) => string) {
  const imageOf = (image: ReferenceFile) => ({
    bytesBase64Encoded: insert(base64Of(image)),
    mimeType: image.contentType,
  })
  const images = inOrder(job.references)
  const [first, last, ...others] = images
  const isFrames = areFrames(images) || (first?.role === 'style' && last === undefined)
  if (isFrames && first !== undefined) {
    if (others.length > 0 || (last !== undefined && last.role !== 'last_frame')) {
      throw new ProviderFailure('rejected', 'a video has a first and a last frame, or other images', {
        code: 'invalid_image',
      })
    }
    return { image: imageOf(first), ...(last !== undefined && { lastFrame: imageOf(last) }) }
  }
  const assets = [...images, ...job.characters.map(({ image }) => image)]
  if (assets.length === 0) return {}
  return {
    referenceImages: assets.map((image) => ({ image: imageOf(image), referenceType: 'asset' })),
  }
}

/** The resolutions of the API; other sizes use the nearest. */
function resolutionOf({ width, height }: VideoJob): string {
  const lines = Math.min(width, height)
  if (lines > 1440) return '4k'
  return lines > 900 ? '1080p' : '720p'
}

function nameIn(ref: Opaque): string {
  const name = textOf(member(ref, 'name')) ?? ''
  const steps = name.split('/')
  // It becomes part of a URL path.
  const isPath = steps.every((step) => /^[\w.:@~-]+$/.test(step) && !/^\.+$/.test(step))
  if (!isPath || name.length > 512) {
    throw new ProviderFailure('rejected', 'not a reference of this provider', { code: 'upstream_error' })
  }
  return name
}

function developerOperation(ref: Opaque): { path: string; body?: undefined } {
  return { path: `/v1beta/${nameIn(ref)}` }
}

/** The name of an enterprise operation has its location. */
function enterpriseOperation(ref: Opaque): { path: string; body: { operationName: string } } {
  const operationName = nameIn(ref)
  const [, model] =
    /^(projects\/[^/]+\/locations\/[^/]+\/publishers\/[^/]+\/models\/[^/]+)\//.exec(operationName) ?? []
  if (model === undefined) {
    throw new ProviderFailure('rejected', 'not a reference of this provider', { code: 'upstream_error' })
  }
  return { path: `/v1/${model}:fetchPredictOperation`, body: { operationName } }
}

/** Finds the videos; versions of the protocol put them in different places. */
function samplesIn(response: unknown): unknown[] {
  for (const layer of [member(response, 'generateVideoResponse'), response]) {
    for (const name of ['generatedSamples', 'generatedVideos', 'videos']) {
      const samples = member(layer, name)
      if (Array.isArray(samples) && samples.length > 0)
        return samples.map((sample: unknown) => member(sample, 'video') ?? sample)
    }
  }
  return [response, member(response, 'video')]
}

function linkIn(sample: unknown): string | undefined {
  return textOf(member(sample, 'uri')) ?? textOf(member(sample, 'gcsUri'))
}

function resultIn(response: unknown): Opaque | undefined {
  const samples = samplesIn(response)
  const uri = samples.map(linkIn).find((link) => link !== undefined && /^https?:/i.test(link))
  if (uri !== undefined) return { uri }
  const isInline = samples.some(
    (sample) =>
      textOf(sample) !== undefined ||
      [...inlineNames].some((name) => textOf(member(sample, name)) !== undefined),
  )
  return isInline ? { inline: true } : undefined
}

/** The reason why a finished operation has no video. */
function reasonIn(response: unknown, redact: (text: string) => string) {
  for (const layer of [member(response, 'generateVideoResponse'), response]) {
    const reasons = member(layer, 'raiMediaFilteredReasons')
    const isFiltered = (numberOf(member(layer, 'raiMediaFilteredCount')) ?? 0) > 0
    if (!isFiltered && !(Array.isArray(reasons) && reasons.length > 0)) continue
    const why = Array.isArray(reasons) ? textOf(reasons[0]) : undefined
    const message = redact(`the video was filtered out: ${why ?? 'no reason given'}`)
    return { code: 'content_policy_violation', message } as const
  }
  const isInBucket = samplesIn(response).some((sample) => linkIn(sample) !== undefined)
  const message = isInBucket
    ? 'the video is in a storage bucket, which is not read from here: have the vendor put no results there'
    : 'it is done, and there is no video'
  return { code: 'upstream_error', message } as const
}

/** Yields the first video of a response, decoded while it arrives. */
async function* videoIn(chunks: AsyncGenerator<JsonToken>): AsyncGenerator<Buffer> {
  async function* text(): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      if (chunk.kind === 'document') break
      yield chunk.bytes
      if (chunk.isEnd) return
    }
    throw new ProviderFailure('rejected', 'download found no video in the operation', {
      code: 'upstream_error',
    })
  }
  try {
    yield* decodeBase64(text())
  } catch (error) {
    if (!(error instanceof NotBase64)) throw error
    throw new ProviderFailure('unknown', 'download was answered with something other than base64')
  }
}
