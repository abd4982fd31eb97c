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

const isExpired = ({ expiresAt }: StoredFile) => expiresAt !== null && expiresAt.getTime() <= Date.now()

/** Sends the file, or a redirect to the store, or 410 if it has expired. */
export const sendFile = async (
  mediaStore: MediaStore,
  file: StoredFile,
  { header, method, signal }: Pick<Call, 'header' | 'method' | 'signal'>,
  { disposition, redirectSeconds = 0 }: { disposition: string; redirectSeconds?: number },
): Promise<Reply<Readable | undefined>> => {
  if (isExpired(file)) throw new ApiError('media_expired')
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
  const range = isRangeValid ? rangeOf(header('range'), file.sizeBytes) : undefined
  if (range === null) {
    throw new ApiError('range_not_satisfiable', {
      message: `The requested range is outside of the file, which has ${file.sizeBytes} bytes.`,
      headers: { 'content-range': `bytes */${file.sizeBytes}`, 'accept-ranges': 'bytes' },
    })
  }
  // The URL is for GET only.
  if (redirectSeconds > 0 && mediaStore.presign !== undefined && method !== 'HEAD') {
    const location = await mediaStore.presign(file.storageKey, {
      ...{ contentType: file.contentType, disposition, expiresInSeconds: redirectSeconds },
    })
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
