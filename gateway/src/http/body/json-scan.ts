/**
 * Looks through JSON as it arrives and takes its long texts out: they go to a spool, unescaped, and what is left is
 * small enough to be parsed at once. It only tells strings from what is between them; whether the rest is JSON is for
 * the parser to say. Nothing here takes long for one chunk, so other requests have their turn in between.
 */
import { ApiError } from '@kinora/contract/errors'

import type { TextSpool } from './spooled-text.ts'

export interface ScanLimits {
  depthMax: number
  membersMax: number
  /** Longer texts are spooled. */
  textBytesMax: number
  /** Once so much is kept, shorter texts are spooled as well: what is kept stays small whatever is sent. */
  keptBytesEnough: number
  textBytesMaxThen: number
  keptBytesMax: number
}

/** What a body may have that carries recordings or images as text. */
export const spoolingLimits: ScanLimits = {
  depthMax: 32,
  membersMax: 1_000,
  textBytesMax: 64 * 1024,
  keptBytesEnough: 512 * 1024,
  textBytesMaxThen: 1024,
  keptBytesMax: 2 * 1024 * 1024,
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

/** What a backslash and this letter stand for. */
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

export const notJson = (cause?: unknown) =>
  new ApiError('invalid_request', { message: 'The body is not valid JSON.', cause })

const tooDeep = (depthMax: number) =>
  new ApiError('invalid_request', { message: `The JSON is nested more than ${depthMax} levels deep.` })

const tooManyMembers = (membersMax: number) =>
  new ApiError('invalid_request', { message: `The JSON has more than ${membersMax} members.` })

/** Where a byte comes next in a chunk, or where the chunk ends; asked for places that only grow. */
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

/** Whether one of these bytes is a control character, which a text may only have as an escape. */
const hasControl = (chunk: Buffer, from: number, to: number): boolean => {
  const start = from + (-(chunk.byteOffset + from) & 3)
  if (to - start < 4) return hasControlByByte(chunk, from, to)
  // Four bytes at a time, which is what makes this cheap.
  const words = new Int32Array(chunk.buffer, chunk.byteOffset + start, (to - start) >> 2)
  let isBelow = 0
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] as number
    // Of a byte below 32 the subtraction sets the highest bit, which it did not have before.
    isBelow |= (word - 0x20202020) & ~word & 0x80808080
  }
  const end = start + words.length * 4
  return isBelow !== 0 || hasControlByByte(chunk, from, start) || hasControlByByte(chunk, end, to)
}

/** Undoes the escapes of one text, which may be cut anywhere. */
const createUnescaper = () => {
  let state: 'plain' | 'escaped' | 'hex' = 'plain'
  let hexDigits = 0
  let code = 0
  /** The first half of a pair whose second half has not come yet. */
  let high = 0
  let isWellFormed = true

  /** Takes bytes up to the closing quote: how far it came, whether that was the end, and the text so far. */
  const take = (chunk: Buffer, start: number): { next: number; isEnd: boolean; text: Buffer } => {
    let at = start
    let isEnd = false
    let onlyRun: { from: number; to: number } | undefined
    let out: Buffer | undefined
    let outBytes = 0
    const prepare = (): Buffer => {
      // An escape is never shorter than what it stands for; only one that began in an earlier chunk may be.
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

    // Each is looked for once and again only when it was passed, so a chunk is gone through twice at most.
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
  take: (chunk: Buffer) => Promise<void>
  /** What is left of the document, with something short in the place of each long text. */
  kept: () => Buffer
}

export const createJsonScan = (
  spool: TextSpool,
  limits: ScanLimits = spoolingLimits,
  /** Counts bytes before they are kept in memory, or throws. */
  charge: (bytes: number) => void = () => undefined,
): JsonScan => {
  const { depthMax, membersMax, textBytesMax, keptBytesEnough, textBytesMaxThen, keptBytesMax } = limits
  let kept = Buffer.allocUnsafe(16 * 1024)
  let keptBytes = 0
  const open: number[] = []
  /** The last of what gives a document its shape: it tells a member's name from a value. */
  let lastMark = 0
  /** At least one for each member: a comma follows every one but the last, which its container stands for. */
  let members = 0
  let place: 'between' | 'short' | 'long' = 'between'
  let isName = false
  let isEscaped = false
  /** Where in what is kept the text under way begins, its quote included. */
  let textStart = 0
  let unescaper = createUnescaper()

  const keep = (bytes: Buffer, start: number, end: number) => {
    const needed = keptBytes + end - start
    if (needed > keptBytesMax) {
      throw new ApiError('request_too_large', {
        message: 'The body has too much in it beside its long texts.',
      })
    }
    charge(end - start)
    if (needed > kept.length) {
      const larger = Buffer.allocUnsafe(
        Math.min(Math.max(keptBytesMax, needed), Math.max(needed, kept.length * 2)),
      )
      kept.copy(larger, 0, 0, keptBytes)
      kept = larger
    }
    keptBytes += bytes.copy(kept, keptBytes, start, end)
  }

  const takeBetween = (chunk: Buffer, start: number): number => {
    let at = start
    for (; at < chunk.length; at += 1) {
      const byte = chunk[at] as number
      if (byte === quote) {
        isName = open.at(-1) === openBrace && (lastMark === openBrace || lastMark === comma)
        isEscaped = false
        keep(chunk, start, at + 1)
        textStart = keptBytes - 1
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
    keep(chunk, start, at)
    return at
  }

  const takeShort = (chunk: Buffer, start: number): number => {
    const textBytes = keptBytes - textStart - 1
    const most = textStart > keptBytesEnough ? textBytesMaxThen : textBytesMax
    const end = isName ? chunk.length : Math.min(chunk.length, start + most + 1 - textBytes)
    let at = start
    for (; at < end; at += 1) {
      if (isEscaped) isEscaped = false
      else if (chunk[at] === backslash) isEscaped = true
      else if (chunk[at] === quote) {
        keep(chunk, start, at + 1)
        place = 'between'
        return at + 1
      }
    }
    keep(chunk, start, at)
    if (!isName && keptBytes - textStart - 1 > most) place = 'long'
    return at
  }

  const takeLong = async (chunk: Buffer, start: number): Promise<number> => {
    const { next, isEnd, text } = unescaper.take(chunk, start)
    if (text.length > 0) await spool.write(text)
    if (isEnd) {
      const stand = Buffer.from(`"${spool.endText(unescaper.isWellFormed())}"`)
      keep(stand, 0, stand.length)
      unescaper = createUnescaper()
      place = 'between'
    }
    return next
  }

  /** A text has proved to be long: what was kept of it follows the rest into the spool. */
  const moveToSpool = async () => {
    const head = Buffer.from(kept.subarray(textStart + 1, keptBytes))
    keptBytes = textStart
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
    kept: () => kept.subarray(0, keptBytes),
  }
}
