/**
 * Reference images of an order: an uploaded file, a data URI or a URL. The bytes are copied to storage with their size
 * counted, and their content type is detected from the bytes, never taken from the sender.
 */
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'

import { ApiError } from '@kinora/contract/errors'
import { imageBytesMax } from '@kinora/contract/limits'

import type { ReceivedFile } from '../../http/body/fields.ts'
import type { SpooledText } from '../../http/body/spooled-text.ts'
import type { Call } from '../../http/call.ts'
import { uuidV7 } from '../../platform/ids/uuid.ts'
import { CommitOutcomeUnknown } from '../../platform/postgres-errors.ts'
import { base64Length, decodeBase64, NotBase64 } from '../../platform/streams/base64.ts'
import { SafeFetchError } from '../../safe-fetch/safe-fetch-error.ts'
import { MediaNotFound } from '../../storage/port/media-store.ts'
import { createImageScan, type ImageScan } from './image-scan.ts'
import { storeClip, type ClipSource } from './reference-clip.ts'
import type { ImageDependencies, StoredImage } from './stored-image.ts'

const invalidImage = (param: string, message: string, cause?: unknown) =>
  new ApiError('invalid_image', { param, message, cause })
const tooLarge = (param: string) =>
  invalidImage(param, `'${param}' must be at most ${imageBytesMax / 1_048_576} MB.`)
const empty = (param: string) => invalidImage(param, `'${param}' is empty: it has 0 bytes.`)

const headOf = async (stream: Readable): Promise<Buffer> => {
  const chunks: Buffer[] = []
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk)
  return Buffer.concat(chunks)
}

async function* scanned(bytes: AsyncIterable<Buffer>, scan: ImageScan): AsyncGenerator<Buffer, void> {
  for await (const chunk of bytes) {
    scan.scan(chunk)
    yield chunk
  }
}

/** Reads a file only as far as needed, and reuses one buffer to limit garbage with many concurrent uploads. */
const scanFile = async (path: string, scan: ImageScan): Promise<void> => {
  const file = await open(path)
  try {
    const buffer = Buffer.allocUnsafe(64 * 1024)
    while (!scan.isDone()) {
      const { bytesRead } = await file.read(buffer, 0, buffer.length)
      if (bytesRead === 0) return
      scan.scan(buffer.subarray(0, bytesRead))
    }
  } finally {
    await file.close()
  }
}

/** Returns the content type. Throws if the image is truncated or not an image. */
const assertComplete = (param: string, scan: ImageScan): string => {
  const contentType = scan.contentType()
  if (contentType === undefined) throw invalidImage(param, `'${param}' is not a PNG, JPEG, WebP or GIF.`)
  if (scan.isComplete()) return contentType
  throw invalidImage(param, `'${param}' is not a complete image: its data is damaged or truncated.`)
}

const notDataUri = (param: string) =>
  invalidImage(param, `'${param}' must be a base64 data URI of a PNG, JPEG, WebP or GIF.`)

const decodeDataUri = (param: string, uri: string): Buffer => {
  const match = /^data:image\/(?:png|jpe?g|webp|gif);base64,([A-Za-z0-9+/_-]*={0,2})$/.exec(uri)
  if (match?.[1] === undefined || match[1].length % 4 === 1) throw notDataUri(param)
  if (match[1].length > (imageBytesMax * 4) / 3 + 4) throw tooLarge(param)
  return Buffer.from(match[1], 'base64')
}

/** The source of an image, and the parameter to name in errors. */
export type ImageSource = { param: string } & (
  | { file: ReceivedFile }
  | { text: string }
  | { spooled: SpooledText }
)

type LongText = Call['longText']
type ImageCall = Pick<Call, 'signal' | 'imageFetch' | 'assertCanPay'>

const urlLengthMax = 65_536

/** The source for a URL or a data URI, which may be spooled if it is long; undefined for anything else. */
export const imageFrom = (
  param: string,
  text: unknown,
  longText: LongText,
): Promise<ImageSource> | undefined => {
  const spooled = longText(text)
  if (spooled === undefined) {
    return typeof text === 'string' && text !== '' ? Promise.resolve({ param, text }) : undefined
  }
  // In a large body even a URL may have been spooled.
  return spooled.sizeBytes > urlLengthMax
    ? Promise.resolve({ param, spooled })
    : spooled.read().then((read) => ({ param, text: read }))
}

/** The images of one parameter: files, text, or the client library's `{ image_url }`. */
export const imagesOf = async (
  { fields, longText }: Pick<Call, 'fields' | 'longText'>,
  param: string,
): Promise<ImageSource[]> => {
  const files = fields.files(param)
  if (files.length > 0) return files.map((file) => ({ param, file }))
  const value = fields.value(param)
  if (value === undefined || (typeof value === 'string' && value.trim() === '')) return []
  const isWrapped = typeof value === 'object' && value !== null && 'image_url' in value
  const source = imageFrom(param, isWrapped ? value.image_url : value, longText)
  if (source !== undefined) return [await source]
  const hasFileId = typeof value === 'object' && value !== null && 'file_id' in value
  throw new ApiError('invalid_parameter', {
    param,
    message: hasFileId
      ? `'${param}' cannot be a file id, because files are not stored here. Send the file itself, or {image_url} with a URL or a data URI.`
      : `'${param}' must be a file, a data URI or a URL.`,
  })
}

/** The images of a list of URLs and data URIs; a missing list counts as empty. */
export const imagesInList = async (
  value: unknown,
  param: string,
  countMax: number,
  longText: LongText,
): Promise<ImageSource[]> => {
  if (value === undefined) return []
  if (countMax === 0 && Array.isArray(value) && value.length > 0) {
    throw new ApiError('invalid_parameter', {
      param,
      message: `The model accepts no images. Leave out '${param}'.`,
    })
  }
  if (!Array.isArray(value) || value.length > countMax) {
    const got = Array.isArray(value) ? `got ${value.length}` : 'got something else'
    throw new ApiError('invalid_parameter', {
      param,
      message: `'${param}' must be a list of at most ${countMax} URLs or data URIs (${got}).`,
    })
  }
  const sources = value.map((text: unknown, index) => {
    const source = imageFrom(`${param}[${index}]`, text, longText)
    if (source !== undefined) return source
    throw new ApiError('invalid_parameter', {
      param: `${param}[${index}]`,
      message: `'${param}[${index}]' must be a URL or a data URI.`,
    })
  })
  return Promise.all(sources)
}

type Put = (bytes: AsyncIterable<Buffer>) => Promise<{ sizeBytes: number; sha256: string }>

/** Copies the file behind one of our own links; returns undefined for any other URL. */
const storeLinked = async (
  { mediaStore, findLinkedFile }: ImageDependencies,
  param: string,
  url: string,
  put: Put,
) => {
  const file = await findLinkedFile(url).catch((error: unknown) => {
    if (!(error instanceof ApiError)) throw error
    throw invalidImage(
      param,
      `'${param}' is a link to a file of this service that cannot be opened: ${error.message}`,
      error,
    )
  })
  if (file === undefined) return undefined
  if (file.sizeBytes > imageBytesMax) throw tooLarge(param)
  try {
    return await put(await mediaStore.open(file.storageKey))
  } catch (error) {
    if (!(error instanceof MediaNotFound)) throw error
    throw invalidImage(param, `'${param}' is a link to a file that was deleted.`, error)
  }
}

const storeText = async (
  dependencies: ImageDependencies,
  param: string,
  text: string,
  put: Put,
  { imageFetch, assertCanPay }: ImageCall,
) => {
  const { safeFetch } = dependencies
  if (text.startsWith('data:')) {
    const bytes = decodeDataUri(param, text)
    if (bytes.length > imageBytesMax) throw tooLarge(param)
    return put(Readable.from([bytes]))
  }
  if (!/^https?:\/\//i.test(text))
    throw invalidImage(param, `'${param}' must be an http or https URL, a data URI or a file.`)
  // Nothing is copied or downloaded for a caller who cannot pay.
  await assertCanPay()
  const linked = await storeLinked(dependencies, param, text, put)
  if (linked !== undefined) return linked
  try {
    return await imageFetch(async (signal) => {
      const { stream } = await safeFetch.open(text, { sizeBytesMax: imageBytesMax, signal })
      return put(stream)
    })
  } catch (error) {
    if (!(error instanceof SafeFetchError)) throw error
    if (error.reason === 'too_large') throw tooLarge(param)
    throw invalidImage(param, `'${param}' could not be fetched: ${error.message}.`, error)
  }
}

/** Text that was spooled can only be a data URI. */
const storeSpooled = async (param: string, spooled: SpooledText, put: Put) => {
  const head = (await headOf(spooled.open(0, 64))).toString('latin1')
  const [start] = /^data:image\/(?:png|jpe?g|webp|gif);base64,/.exec(head) ?? []
  if (start === undefined) throw notDataUri(param)
  if (spooled.sizeBytes - start.length > base64Length(imageBytesMax)) throw tooLarge(param)
  try {
    return await put(decodeBase64(spooled.open(start.length)))
  } catch (error) {
    if (error instanceof RangeError) throw tooLarge(param)
    throw error instanceof NotBase64 ? notDataUri(param) : error
  }
}

const storeFile = async (
  { mediaStore }: ImageDependencies,
  param: string,
  file: ReceivedFile,
  key: string,
  scan: ImageScan,
) => {
  if (file.isTruncated || file.sizeBytes > imageBytesMax) throw tooLarge(param)
  if (file.sizeBytes === 0) throw empty(param)
  await scanFile(file.path, scan)
  assertComplete(param, scan)
  await mediaStore.adopt(key, file.path)
  return { sizeBytes: file.sizeBytes, sha256: file.sha256 }
}

const storeOne = async (
  dependencies: ImageDependencies,
  source: ImageSource | ClipSource,
  id: string,
  call: ImageCall,
): Promise<StoredImage> => {
  if ('check' in source) return storeClip(dependencies, source, id, call.signal)
  const { mediaStore } = dependencies
  const { param } = source
  const storageKey = `references/${id}`
  const scan = createImageScan()
  const put: Put = (bytes) =>
    mediaStore.put(storageKey, Readable.from(scanned(bytes, scan), { objectMode: false }), {
      sizeBytesMax: imageBytesMax,
    })
  const store = () => {
    if ('file' in source) return storeFile(dependencies, param, source.file, storageKey, scan)
    if ('spooled' in source) return storeSpooled(param, source.spooled, put)
    return storeText(dependencies, param, source.text, put, call)
  }
  const stored = await store()
  try {
    if (stored.sizeBytes === 0) throw empty(param)
    return { id, storageKey, contentType: assertComplete(param, scan), ...stored }
  } catch (error) {
    await mediaStore.remove(storageKey)
    throw error
  }
}

const removeImages = ({ mediaStore }: Pick<ImageDependencies, 'mediaStore'>, images: StoredImage[]) =>
  mediaStore.removeMany(images.map(({ storageKey }) => storageKey))

/**
 * Stores the images and passes them to `work`; removes them again if the order is refused. If the outcome of the commit
 * is unknown they stay, and retention removes images without an order.
 */
export const withImages = async <Result>(
  dependencies: ImageDependencies,
  sources: (ImageSource | ClipSource)[],
  call: ImageCall,
  work: (images: StoredImage[]) => Promise<Result>,
): Promise<Result> => {
  const images: StoredImage[] = []
  try {
    // The order of the ids is the order of the images, which tells a first frame from a last one.
    const ids = sources.map(() => uuidV7()).toSorted()
    for (const [index, source] of sources.entries()) {
      images.push(await storeOne(dependencies, source, ids[index] ?? uuidV7(), call))
    }
    return await work(images)
  } catch (error) {
    if (!(error instanceof CommitOutcomeUnknown)) await removeImages(dependencies, images)
    throw error
  }
}

/** Validates the images like `withImages` and passes them to `work`, then removes them. */
export const tryImages = <Result>(
  dependencies: ImageDependencies,
  sources: (ImageSource | ClipSource)[],
  call: ImageCall,
  work: (images: StoredImage[]) => Promise<Result>,
): Promise<Result> =>
  withImages(dependencies, sources, call, async (images) => {
    const result = await work(images)
    await removeImages(dependencies, images)
    return result
  })
