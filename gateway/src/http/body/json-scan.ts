/**
 * Scans JSON while it arrives and extracts its long texts. They go to a spool, unescaped, and the remainder is small
 * enough to be parsed at once. The scan only separates strings from structure; `JSON.parse` validates the remainder.
 * One chunk takes little time, so that other requests are served in between.
 */
import { ApiError } from '@kinora/contract/errors'

import { notJson } from './json-error.ts'
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

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d
const letterU = 0x75

/** The character that each escape sequence denotes. */
const escapes = new Map(
  Object.entries({ '"': '"', '\\': '\\', '/': '/', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }).map(
    ([letter, meant]) => [letter.charCodeAt(0), meant.charCodeAt(0)],
  ),
)

const hexDigitOf = (byte: number): number => {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x61 + 10 : -1
}

const isHighSurrogate = (code: number) => code >= 0xd800 && code <= 0xdbff
const isLowSurrogate = (code: number) => code >= 0xdc00 && code <= 0xdfff

const tooDeep = (depthMax: number) =>
  new ApiError('invalid_request', { message: `The JSON is nested more than ${depthMax} levels deep.` })

const tooManyMembers = (membersMax: number) =>
  new ApiError('invalid_request', { message: `The JSON has more than ${membersMax} members.` })

/** Finds the next occurrence of a byte, or the end of the chunk. Call it with increasing positions only. */
const createFinder = (chunk: Buffer, byte: number) => {
  let found = -1
  return (from: number): number => {
    if (found < from) {
      found = chunk.indexOf(byte, from)
      if (found < 0) found = chunk.length
    }
    return found
  }
}

const hasControlByByte = (chunk: Buffer, from: number, to: number): boolean => {
  for (let at = from; at < to; at += 1) if ((chunk[at] as number) < 0x20) return true
  return false
}

/** Whether one of these bytes is a control character, which JSON allows only as an escape sequence. */
const hasControl = (chunk: Buffer, from: number, to: number): boolean => {
  const start = from + (-(chunk.byteOffset + from) & 3)
  if (to - start < 4) return hasControlByByte(chunk, from, to)
  // Checking four bytes at a time makes this cheap.
  const words = new Int32Array(chunk.buffer, chunk.byteOffset + start, (to - start) >> 2)
  let isBelow = 0
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] as number
    // The subtraction sets the highest bit of a byte below 32 that did not have it before.
    isBelow |= (word - 0x20202020) & ~word & 0x80808080
  }
  const end = start + words.length * 4
  return isBelow !== 0 || hasControlByByte(chunk, from, start) || hasControlByByte(chunk, end, to)
}

/** Resolves the escape sequences of one text, which may be split anywhere. */
const createUnescaper = () => {
  let state: 'plain' | 'escaped' | 'hex' = 'plain'
  let hexDigits = 0
  let code = 0
  /** A high surrogate whose low surrogate has not arrived yet. */
  let high = 0
  let isWellFormed = true

  /** Consumes bytes up to the closing quote; returns the next position, whether the text has ended, and the text so far. */
  const take = (chunk: Buffer, start: number): { next: number; isEnd: boolean; text: Buffer } => {
    let at = start
    let isEnd = false
    let onlyRun: { from: number; to: number } | undefined
    let out: Buffer | undefined
    let outBytes = 0
    const prepare = (): Buffer => {
      // An escape sequence is never shorter than its result, unless it began in an earlier chunk.
      out ??= Buffer.allocUnsafe(chunk.length - start + 8)
      if (onlyRun !== undefined) outBytes += chunk.copy(out, outBytes, onlyRun.from, onlyRun.to)
      onlyRun = undefined
      return out
    }
    const addRun = (from: number, to: number) => {
      if (hasControl(chunk, from, to)) throw notJson()
      if (out === undefined && onlyRun === undefined) onlyRun = { from, to }
      else {
        const prepared = prepare()
        outBytes += chunk.copy(prepared, outBytes, from, to)
      }
    }
    const addCode = (added: number) => {
      const prepared = prepare()
      if (added < 0x80) prepared[outBytes++] = added
      else outBytes += prepared.write(String.fromCodePoint(added), outBytes, 'utf8')
    }
    const addLone = () => {
      isWellFormed = false
      high = 0
      addCode(0xfffd)
    }
    const addUnit = (unit: number) => {
      if (high !== 0 && isLowSurrogate(unit)) {
        addCode(0x10000 + ((high - 0xd800) << 10) + (unit - 0xdc00))
        high = 0
        return
      }
      if (high !== 0) addLone()
      if (isHighSurrogate(unit)) high = unit
      else if (isLowSurrogate(unit)) addLone()
      else addCode(unit)
    }

    // Each search starts anew only when its last result was passed, so a chunk is scanned at most twice.
    const quotes = createFinder(chunk, quote)
    const backslashes = createFinder(chunk, backslash)
    while (at < chunk.length && !isEnd) {
      const byte = chunk[at] as number
      if (state === 'plain') {
        if (high !== 0 && byte !== backslash) addLone()
        const end = Math.min(quotes(at), backslashes(at))
        if (end > at) addRun(at, end)
        at = end
        if (at === chunk.length) break
        if (chunk[at] === backslash) state = 'escaped'
        else isEnd = true
      } else if (state === 'escaped') {
        const meant = escapes.get(byte)
        if (byte === letterU) {
          state = 'hex'
          hexDigits = 0
          code = 0
        } else if (meant === undefined) throw notJson()
        else {
          if (high !== 0) addLone()
          addCode(meant)
          state = 'plain'
        }
      } else {
        const digit = hexDigitOf(byte)
        if (digit < 0) throw notJson()
        code = code * 16 + digit
        hexDigits += 1
        if (hexDigits === 4) {
          addUnit(code)
          state = 'plain'
        }
      }
      at += 1
    }
    const text =
      onlyRun === undefined
        ? (out ?? Buffer.alloc(0)).subarray(0, outBytes)
        : chunk.subarray(onlyRun.from, onlyRun.to)
    return { next: at, isEnd, text }
  }
  return { take, isWellFormed: () => isWellFormed }
}

export interface JsonScan {
  /** Returns a promise only if it has to write to the spool. */
  take: (chunk: Buffer) => Promise<void> | undefined
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
  // Small enough to come from Node's pool.
  let buffered = Buffer.allocUnsafe(2 * 1024)
  let bufferedBytes = 0
  const open: number[] = []
  /** The last structural character; it distinguishes the name of a member from a value. */
  let lastMark = 0
  /** An upper bound of the members: a comma follows each but the last, for which the container is counted. */
  let members = 0
  let place: 'between' | 'short' | 'long' = 'between'
  let isName = false
  let isEscaped = false
  /** Whether the beginning of a text that turned out to be long is still in the buffer. */
  let isInBuffer = false
  /** Where the current text begins in the buffer, including its quote. */
  let textStart = 0
  let unescaper = createUnescaper()

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
    let at = start
    for (; at < chunk.length; at += 1) {
      const byte = chunk[at] as number
      if (byte === quote) {
        isName = open.at(-1) === openBrace && (lastMark === openBrace || lastMark === comma)
        isEscaped = false
        append(chunk, start, at + 1)
        textStart = bufferedBytes - 1
        place = 'short'
        return at + 1
      }
      if (byte === openBrace || byte === openBracket) {
        open.push(byte)
        members += 1
        if (open.length > depthMax) throw tooDeep(depthMax)
      } else if (byte === closeBrace || byte === closeBracket) open.pop()
      else if (byte === comma) {
        members += 1
      } else if (byte !== colon) continue
      if (members > membersMax) throw tooManyMembers(membersMax)
      lastMark = byte
    }
    append(chunk, start, at)
    return at
  }

  const takeShort = (chunk: Buffer, start: number): number => {
    const textBytes = bufferedBytes - textStart - 1
    const most = textStart > bufferedBytesHigh ? textBytesMaxWhenHigh : textBytesMax
    const end = isName ? chunk.length : Math.min(chunk.length, start + most + 1 - textBytes)
    let at = start
    for (; at < end; at += 1) {
      if (isEscaped) isEscaped = false
      else if (chunk[at] === backslash) isEscaped = true
      else if (chunk[at] === quote) {
        append(chunk, start, at + 1)
        place = 'between'
        return at + 1
      }
    }
    append(chunk, start, at)
    if (!isName && bufferedBytes - textStart - 1 > most) {
      place = 'long'
      isInBuffer = true
    }
    return at
  }

  const takeLong = async (chunk: Buffer, start: number): Promise<number> => {
    const { next, isEnd, text } = unescaper.take(chunk, start)
    if (text.length > 0) await spool.write(text)
    if (isEnd) {
      const placeholder = Buffer.from(`"${spool.endText(unescaper.isWellFormed())}"`)
      append(placeholder, 0, placeholder.length)
      unescaper = createUnescaper()
      place = 'between'
    }
    return next
  }

  /** Moves the buffered beginning of a text that turned out to be long to the spool. */
  const moveToSpool = async () => {
    isInBuffer = false
    const head = Buffer.from(buffered.subarray(textStart + 1, bufferedBytes))
    bufferedBytes = textStart
    await takeLong(head, 0)
  }

  /** Takes what needs no spool; returns where a long text goes on, or the end of the chunk. */
  const takeBuffered = (chunk: Buffer, start: number): number => {
    let at = start
    while (at < chunk.length && place !== 'long') {
      at = place === 'between' ? takeBetween(chunk, at) : takeShort(chunk, at)
    }
    return at
  }

  const takeWithSpool = async (chunk: Buffer, start: number): Promise<void> => {
    for (let at = start; ;) {
      if (place === 'long' && isInBuffer) await moveToSpool()
      if (at === chunk.length) return
      at = place === 'long' ? await takeLong(chunk, at) : takeBuffered(chunk, at)
    }
  }

  return {
    take: (chunk) => {
      const at = takeBuffered(chunk, 0)
      return place === 'long' ? takeWithSpool(chunk, at) : undefined
    },
    remainder: () => buffered.subarray(0, bufferedBytes),
  }
}
