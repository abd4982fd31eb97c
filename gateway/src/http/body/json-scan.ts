/**
 * Scans JSON while it arrives and extracts its long texts. They go to a spool, unescaped, and the remainder is small
 * enough to be parsed at once. The scan only separates strings from structure; `JSON.parse` validates the remainder.
 * One chunk takes little time, so that other requests are served in between.
 */
import { ApiError } from '@kinora/contract/errors'

import {
  createStructure,
  createTextScan,
  createUnescaper,
  quote,
} from '../../platform/streams/json-scanner.ts'
import type { TextSpool } from './spooled-text.ts'

export interface ScanLimits {
  depthMax: number
  membersMax: number
  /** Longer texts are spooled. */
  textBytesMax: number
  /** Above this many buffered bytes shorter texts are spooled as well, so that the remainder stays small. */
  bufferedBytesHigh: number
  textBytesMaxWhenHigh: number
  bufferedBytesMax: number
}

/** The limits of a body that carries recordings or images as text. */
export const spoolingLimits: ScanLimits = {
  depthMax: 32,
  membersMax: 1_000,
  textBytesMax: 64 * 1024,
  bufferedBytesHigh: 512 * 1024,
  textBytesMaxWhenHigh: 1024,
  bufferedBytesMax: 2 * 1024 * 1024,
}

export const notJson = (cause?: unknown) =>
  new ApiError('invalid_request', { message: 'The body is not valid JSON.', cause })

const tooDeep = (depthMax: number) =>
  new ApiError('invalid_request', { message: `The JSON is nested more than ${depthMax} levels deep.` })

const tooManyMembers = (membersMax: number) =>
  new ApiError('invalid_request', { message: `The JSON has more than ${membersMax} members.` })

export interface JsonScan {
  take: (chunk: Buffer) => Promise<void>
  /** The document with a short placeholder for each long text. */
  remainder: () => Buffer
}

export const createJsonScan = (
  spool: TextSpool,
  limits: ScanLimits = spoolingLimits,
  /** Counts bytes before they are buffered, or throws. */
  charge: (bytes: number) => void = () => undefined,
): JsonScan => {
  const { depthMax, membersMax, textBytesMax, bufferedBytesHigh, textBytesMaxWhenHigh, bufferedBytesMax } =
    limits
  let buffered = Buffer.allocUnsafe(16 * 1024)
  let bufferedBytes = 0
  const structure = createStructure({
    depthMax,
    tooDeep: () => tooDeep(depthMax),
    membersMax,
    tooManyMembers: () => tooManyMembers(membersMax),
  })
  let place: 'between' | 'short' | 'long' = 'between'
  let isName = false
  /** Where the current text begins in the buffer, including its quote. */
  let textStart = 0
  let findQuote = createTextScan()
  let unescaper = createUnescaper(notJson)

  const append = (bytes: Buffer, start: number, end: number) => {
    const needed = bufferedBytes + end - start
    if (needed > bufferedBytesMax) {
      throw new ApiError('request_too_large', {
        message: 'The body is too large apart from its long texts.',
      })
    }
    charge(end - start)
    if (needed > buffered.length) {
      const larger = Buffer.allocUnsafe(
        Math.min(Math.max(bufferedBytesMax, needed), Math.max(needed, buffered.length * 2)),
      )
      buffered.copy(larger, 0, 0, bufferedBytes)
      buffered = larger
    }
    bufferedBytes += bytes.copy(buffered, bufferedBytes, start, end)
  }

  const takeBetween = (chunk: Buffer, start: number): number => {
    const at = structure.scan(chunk, start)
    append(chunk, start, Math.min(chunk.length, at + 1))
    if (chunk[at] === quote) {
      isName = structure.isName()
      findQuote = createTextScan()
      textStart = bufferedBytes - 1
      place = 'short'
    }
    return at + 1
  }

  const takeShort = (chunk: Buffer, start: number): number => {
    const textBytes = bufferedBytes - textStart - 1
    const most = textStart > bufferedBytesHigh ? textBytesMaxWhenHigh : textBytesMax
    const end = isName ? chunk.length : Math.min(chunk.length, start + most + 1 - textBytes)
    const at = findQuote(chunk, start, end)
    if (at < end) {
      append(chunk, start, at + 1)
      place = 'between'
      return at + 1
    }
    append(chunk, start, end)
    if (!isName && bufferedBytes - textStart - 1 > most) place = 'long'
    return end
  }

  const takeLong = async (chunk: Buffer, start: number): Promise<number> => {
    const { next, isEnd, text } = unescaper.take(chunk, start)
    if (text.length > 0) await spool.write(text)
    if (isEnd) {
      const placeholder = Buffer.from(`"${spool.endText(unescaper.isWellFormed())}"`)
      append(placeholder, 0, placeholder.length)
      unescaper = createUnescaper(notJson)
      place = 'between'
    }
    return next
  }

  /** Moves the buffered beginning of a text that turned out to be long to the spool. */
  const moveToSpool = async () => {
    const head = Buffer.from(buffered.subarray(textStart + 1, bufferedBytes))
    bufferedBytes = textStart
    await takeLong(head, 0)
  }

  return {
    take: async (chunk) => {
      for (let at = 0; at < chunk.length;) {
        if (place === 'between') at = takeBetween(chunk, at)
        else if (place === 'short') {
          at = takeShort(chunk, at)
          if ((place as string) === 'long') await moveToSpool()
        } else at = await takeLong(chunk, at)
      }
    },
    remainder: () => buffered.subarray(0, bufferedBytes),
  }
}
