/** Sends a stored file as the response, with support for ranges, conditional requests and HEAD. */
import type { Readable } from 'node:stream'

import { ApiError } from '@kinora/contract/errors'

import type { Call, Reply } from '../http/call.ts'
import { isKnownTag } from '../platform/entity-tag.ts'
import { MediaNotFound, type MediaStore } from './port/media-store.ts'
import type { StoredFile } from './stored-file-store.ts'

type Range = { start: number; end: number }

/** Parses a single byte range: `undefined` for the whole file, `null` for a range that cannot be satisfied. */
export const rangeOf = (header: string | undefined, sizeBytes: number): Range | undefined | null => {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? '')
  if (match === null || (match[1] === '' && match[2] === '')) return undefined
  const [, first = '', last = ''] = match
  // A range that ends before it starts is invalid, and invalid ranges are ignored.
  if (first !== '' && last !== '' && Number(last) < Number(first)) return undefined
  const start = first === '' ? Math.max(0, sizeBytes - Number(last)) : Number(first)
  const end = first === '' || last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1)
  return start > end || start >= sizeBytes ? null : { start, end }
}

/** Throws if the file has expired. */
export const assertUnexpired = (expiresAt: Date | null, param?: string): void => {
  if (expiresAt === null || expiresAt.getTime() > Date.now()) return
  throw new ApiError('media_expired', {
    message: `The file expired at ${expiresAt.toISOString()} and was deleted.`,
    ...(param !== undefined && { param }),
  })
}

/**
 * Whether a browser takes the content for nothing else without `x-content-type-options: nosniff`, which S3 cannot send. It must
 * also be no document that could contain a script.
 */
export const mayRedirect = (contentType: string): boolean =>
  /^(?:(?:video|audio)\/[\w.+-]+|image\/(?:png|jpeg|webp))$/.test(contentType)

/** Sends the file, or a redirect to the store, or 410 if it has expired. */
export const sendFile = async (
  mediaStore: MediaStore,
  file: StoredFile,
  { header, method, signal }: Pick<Call, 'header' | 'method' | 'signal'>,
  { disposition, redirectSeconds = 0 }: { disposition: string; redirectSeconds?: number },
): Promise<Reply<Readable | undefined>> => {
  assertUnexpired(file.expiresAt)
  const etag = `"${file.sha256}"`
  const headers: Record<string, string> = {
    etag,
    'accept-ranges': 'bytes',
    'content-type': file.contentType,
    'content-disposition': disposition,
    'cache-control': 'private, max-age=3600, immutable',
    'cross-origin-resource-policy': 'cross-origin',
  }
  if (isKnownTag(header('if-none-match'), etag)) return { status: 304, headers, body: undefined }
  const isRangeValid = header('if-range') === undefined || header('if-range') === etag
  const asked = header('range')
  const range = isRangeValid ? rangeOf(asked, file.sizeBytes) : undefined
  if (range === null) {
    throw new ApiError('range_not_satisfiable', {
      message: `The range '${asked?.slice(0, 60)}' is outside of the file, which has ${file.sizeBytes} bytes.`,
      headers: { 'content-range': `bytes */${file.sizeBytes}`, 'accept-ranges': 'bytes' },
    })
  }
  // The URL is for GET only.
  if (redirectSeconds > 0 && method !== 'HEAD' && mayRedirect(file.contentType)) {
    const location = await mediaStore.presign?.(file.storageKey, {
      ...{ contentType: file.contentType, disposition, expiresInSeconds: redirectSeconds, signal },
    })
    if (location !== undefined)
      return { status: 302, headers: { location, 'cache-control': 'no-store' }, body: undefined }
  }
  const sent = range ?? { start: 0, end: file.sizeBytes - 1 }
  headers['content-length'] = String(sent.end - sent.start + 1)
  if (range !== undefined) headers['content-range'] = `bytes ${range.start}-${range.end}/${file.sizeBytes}`
  const status = range === undefined ? 200 : 206
  if (method === 'HEAD') return { status, headers, body: undefined }
  try {
    return { status, headers, body: await mediaStore.open(file.storageKey, { range: sent, signal }) }
  } catch (error) {
    if (!(error instanceof MediaNotFound)) throw error
    throw new ApiError('media_expired', { detail: `the file of ${file.id} is missing`, cause: error })
  }
}
