/**
 * The reference video and the reference audio of an order: a file or a URL. Both are short, and are stored with the images
 * until the task ends.
 */
import type { Readable } from 'node:stream'

import { ApiError } from '@kinora/contract/errors'

import type { ReceivedFile } from '../../http/body/fields.ts'
import type { Call } from '../../http/call.ts'
import type { VideoModel } from '../../models/model.ts'
import { SafeFetchError } from '../../safe-fetch/safe-fetch-error.ts'
import { MediaNotFound } from '../../storage/port/media-store.ts'
import { probeMp4 } from '../../storage/probe-mp4.ts'
import type { ImageDependencies, MeasureClip, StoredImage } from './stored-image.ts'

export const clipSecondsMax = 60
const clipBytesMax = 64 * 1_048_576

export interface ClipSource {
  param: string
  from: { file: ReceivedFile } | { url: string }
  /** Refuses an unusable file; returns its content type. */
  check: (path: string) => Promise<string>
  call: Pick<Call, 'mediaFetch' | 'assertCanPay'>
}

type ClipCall = Pick<Call, 'fields' | 'mediaWork' | 'mediaFetch' | 'assertCanPay'>

const invalid = (param: string, message: string, cause?: unknown) =>
  new ApiError('invalid_parameter', { param, message: `'${param}' ${message}`, cause })

const checkVideo = async (path: string, param: string): Promise<string> => {
  const probed = await probeMp4(path)
  if (probed === undefined || probed === 'not-mp4') {
    throw new ApiError('invalid_file_format', { param, message: `'${param}' must be an MP4 video.` })
  }
  if (probed.durationMs <= clipSecondsMax * 1000) return 'video/mp4'
  throw invalid(param, `must be at most ${clipSecondsMax} seconds long.`)
}

const sourceOf = (call: ClipCall, param: string, check: ClipSource['check']): ClipSource | undefined => {
  const [file] = call.fields.files(param)
  if (file !== undefined) return { param, from: { file }, check, call }
  const value = call.fields.value(param)
  if (value === undefined || value === '') return undefined
  if (typeof value === 'string' && /^https?:\/\//i.test(value)) {
    return { param, from: { url: value }, check, call }
  }
  throw invalid(param, 'must be a file, or an http or https URL.')
}

/** The reference video and audio of a request, if the model uses them. */
export const clipsOf = (
  call: ClipCall,
  model: Pick<VideoModel, 'usesVideo' | 'usesAudio'>,
  measureClip: MeasureClip,
): ClipSource[] => {
  const video =
    model.usesVideo && sourceOf(call, 'reference_video', (path) => checkVideo(path, 'reference_video'))
  const checkAudio = async (path: string) =>
    (await measureClip(path, 'reference_audio', call.mediaWork)).contentType
  const audio = model.usesAudio && sourceOf(call, 'reference_audio', checkAudio)
  return [video, audio].filter((source) => typeof source === 'object')
}

const tooLarge = (param: string, cause?: unknown) =>
  invalid(param, `must be at most ${clipBytesMax / 1_048_576} MB.`, cause)

const storeUrl = async (
  { mediaStore, safeFetch, findLinkedFile, diskSpace }: ImageDependencies,
  { param, call }: ClipSource,
  url: string,
  key: string,
  signal: AbortSignal,
) => {
  const linked = await findLinkedFile(url).catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error
    throw invalid(param, `is a link to a file of this service that cannot be opened: ${error.message}`, error)
  })
  // A large file is neither copied nor downloaded for a caller who cannot pay.
  await call.assertCanPay()
  await diskSpace.assertFree(clipBytesMax)
  const put = (stream: Readable) => mediaStore.put(key, stream, { sizeBytesMax: clipBytesMax })
  if (linked !== undefined) {
    if (linked.sizeBytes > clipBytesMax) throw tooLarge(param)
    try {
      return await put(await mediaStore.open(linked.storageKey, { signal }))
    } catch (error) {
      if (!(error instanceof MediaNotFound)) throw error
      throw invalid(param, 'is a link to a file that was deleted.', error)
    }
  }
  const fetchFile = async (stop: AbortSignal) => {
    const { stream } = await safeFetch.open(url, { sizeBytesMax: clipBytesMax, signal: stop })
    return put(stream)
  }
  return call.mediaFetch(fetchFile, { signal }).catch((error: unknown) => {
    if (!(error instanceof SafeFetchError)) throw error
    if (error.reason === 'too_large') throw tooLarge(param, error)
    throw invalid(param, `could not be fetched: ${error.message}.`, error)
  })
}

export const storeClip = async (
  dependencies: ImageDependencies,
  source: ClipSource,
  id: string,
  signal: AbortSignal,
): Promise<StoredImage> => {
  const { mediaStore } = dependencies
  const { param, from, check } = source
  const storageKey = `references/${id}`
  if ('file' in from) {
    if (from.file.isTruncated) throw tooLarge(param)
    const contentType = await check(from.file.path)
    await mediaStore.adopt(storageKey, from.file.path)
    return { id, storageKey, contentType, sizeBytes: from.file.sizeBytes, sha256: from.file.sha256 }
  }
  const stored = await storeUrl(dependencies, source, from.url, storageKey, signal)
  try {
    return { id, storageKey, contentType: await mediaStore.withLocalPath(storageKey, check), ...stored }
  } catch (error) {
    await mediaStore.remove(storageKey)
    throw error
  }
}
