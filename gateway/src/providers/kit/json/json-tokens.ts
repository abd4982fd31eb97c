import { ProviderFailure } from '../../port/failure.ts'
import { parseJson } from './lenient-json.ts'

export type JsonToken =
  /** A chunk of a text under one of the given names; `isEnd` marks the last chunk. */
  | { kind: 'text'; name: string; bytes: Buffer; isEnd: boolean }
  /** A whole document, with `placeholder` instead of every such text that was not empty. Undefined if not valid. */
  | { kind: 'document'; value: unknown }

/** Replaces a text that was yielded in chunks. */
export const placeholder = '…'

const restBytesMax = 1024 * 1024
const depthMax = 64

const quote = 0x22
const comma = 0x2c
const colon = 0x3a
const openBracket = 0x5b
const backslash = 0x5c
const closeBracket = 0x5d
const letterU = 0x75
const openBrace = 0x7b
const closeBrace = 0x7d

/**
 * Reads a sequence of JSON documents with bounded memory: every text under one of `names` is yielded in chunks, and only
 * the rest of each document is buffered and parsed. `what` is the name of the call in failures.
 */
export async function* jsonTokens(
  source: AsyncIterable<Buffer>,
  names: ReadonlySet<string>,
  what: string,
): AsyncGenerator<JsonToken, void, undefined> {
  let rest = Buffer.allocUnsafe(16 * 1024)
  let restBytes = 0
  const open: number[] = []
  let state: 'between' | 'buffered text' | 'streamed text' = 'between'
  /** The last structural character, which distinguishes names from values. */
  let lastStructural = 0
  let isName = false
  let isEscaped = false
  /** Where the current text begins in the buffer. */
  let textStart = 0
  let name = ''
  let isEmpty = true
  let unescaper = createUnescaper(what)

  function buffer(bytes: Buffer): void {
    const needed = restBytes + bytes.length
    if (needed > restBytesMax) throw new ProviderFailure('unknown', `${what} answered with too large a body`)
    if (needed > rest.length) {
      const larger = Buffer.allocUnsafe(Math.min(restBytesMax, Math.max(needed, rest.length * 2)))
      rest.copy(larger, 0, 0, restBytes)
      rest = larger
    }
    restBytes += bytes.copy(rest, restBytes)
  }

  /** Returns the position of the next text, the end of the document, or the end of the chunk. */
  function skipBetween(chunk: Buffer, start: number): number {
    for (let at = start; at < chunk.length; at += 1) {
      const byte = chunk[at] as number
      if (open.length === 0 && byte > 0x20 && byte !== openBrace && byte !== openBracket) {
        throw new ProviderFailure('unknown', `${what} answered something other than JSON`)
      }
      if (byte === quote) return at
      if (byte === openBrace || byte === openBracket) {
        open.push(byte)
        if (open.length > depthMax)
          throw new ProviderFailure('unknown', `${what} answered JSON that is too deep`)
      } else if (byte === closeBrace || byte === closeBracket) {
        open.pop()
        if (open.length === 0) return at
      } else if (byte !== comma && byte !== colon) continue
      lastStructural = byte
    }
    return chunk.length
  }

  /** Returns the position of the closing quote, or the end of the chunk. */
  function skipText(chunk: Buffer, start: number): number {
    for (let at = start; at < chunk.length; at += 1) {
      if (isEscaped) isEscaped = false
      else if (chunk[at] === backslash) isEscaped = true
      else if (chunk[at] === quote) return at
    }
    return chunk.length
  }

  for await (const chunk of source) {
    let at = 0
    while (at < chunk.length) {
      if (state === 'between') {
        const end = skipBetween(chunk, at)
        buffer(chunk.subarray(at, end + 1))
        at = end + 1
        if (at > chunk.length) continue
        if (chunk[end] === quote) {
          isName = open.at(-1) === openBrace && lastStructural !== colon
          const isStreamed = !isName && open.at(-1) === openBrace && names.has(name)
          state = isStreamed ? 'streamed text' : 'buffered text'
          textStart = restBytes
          isEmpty = true
          isEscaped = false
          unescaper = createUnescaper(what)
        } else {
          const text = rest.toString('utf8', 0, restBytes)
          restBytes = 0
          lastStructural = 0
          yield { kind: 'document', value: parseJson(text) }
        }
      } else if (state === 'buffered text') {
        const end = skipText(chunk, at)
        buffer(chunk.subarray(at, end + 1))
        at = end + 1
        if (at > chunk.length) continue
        if (isName) name = nameIn(rest.subarray(textStart, restBytes))
        state = 'between'
      } else {
        const { next, isEnd, bytes } = unescaper.take(chunk, at)
        at = next
        if (isEmpty && bytes.length > 0) {
          isEmpty = false
          buffer(Buffer.from(placeholder))
        }
        if (isEnd) {
          buffer(Buffer.from('"'))
          state = 'between'
        }
        if (bytes.length > 0 || isEnd) yield { kind: 'text', name, bytes, isEnd }
      }
    }
  }
  if (open.length > 0) throw new ProviderFailure('unknown', `${what} broke off in the middle of its JSON`)
}

/** Parses a name; the bytes include the closing quote. */
function nameIn(bytes: Buffer): string {
  const name = parseJson(`"${bytes.toString('utf8')}`)
  return typeof name === 'string' ? name : ''
}

/** `\n`, `\r` and `\t`; any other escaped letter is used as it is. */
const escapes = new Map([
  [0x6e, 0x0a],
  [0x72, 0x0d],
  [0x74, 0x09],
])

/** Unescapes one text, which may be cut anywhere. Some vendors escape base64: `\/`, `\u003d`. */
function createUnescaper(what: string) {
  let state: 'plain' | 'escaped' | 'hex' = 'plain'
  let hex = ''

  /** Reads up to the closing quote. */
  function take(chunk: Buffer, start: number): { next: number; isEnd: boolean; bytes: Buffer } {
    const end = chunk.indexOf(quote, start)
    const plainEnd = end < 0 ? chunk.length : end
    const firstEscape = chunk.subarray(start, plainEnd).indexOf(backslash)
    if (state === 'plain' && firstEscape < 0) {
      return { next: plainEnd + 1, isEnd: end >= 0, bytes: chunk.subarray(start, plainEnd) }
    }
    // A character is never longer than its escape, unless the escape began in an earlier chunk.
    const bytes = Buffer.allocUnsafe(chunk.length - start + 4)
    let size = 0
    for (let at = start; at < chunk.length; at += 1) {
      const byte = chunk[at] as number
      if (state === 'plain') {
        if (byte === quote) return { next: at + 1, isEnd: true, bytes: bytes.subarray(0, size) }
        if (byte === backslash) state = 'escaped'
        else bytes[size++] = byte
      } else if (state === 'escaped') {
        state = byte === letterU ? 'hex' : 'plain'
        hex = ''
        if (state === 'plain') bytes[size++] = escapes.get(byte) ?? byte
      } else {
        hex += String.fromCharCode(byte)
        if (hex.length < 4) continue
        if (!/^[0-9a-f]{4}$/i.test(hex))
          throw new ProviderFailure('unknown', `${what} answered something other than JSON`)
        size += bytes.write(String.fromCharCode(Number.parseInt(hex, 16)), size, 'utf8')
        state = 'plain'
      }
    }
    return { next: chunk.length, isEnd: false, bytes: bytes.subarray(0, size) }
  }

  return { take }
}
