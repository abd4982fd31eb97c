import { ProviderFailure } from '../../port/failure.ts'
import { parseJson } from './lenient-json.ts'

/** What JSON is told in, as it comes. */
export type JsonToken =
  /** Some of a text under a name that was asked for; `isEnd` where it was the last of that text. */
  | { kind: 'text'; name: string; bytes: Buffer; isEnd: boolean }
  /** A whole document, in which `standIn` stands for every such text that was not empty. Undefined if it was none. */
  | { kind: 'document'; value: unknown }

/** Stands in a document for a text that was told in pieces. */
export const standIn = '…'

const longestRestBytes = 1024 * 1024
const deepest = 64

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
 * Reads JSON documents, one after the other, without holding what is long in them: every text under one of `names` is
 * told in pieces, and of a document only the rest is kept. It tells texts from what is between them and leaves the rest
 * to the parser. `what` is the call whose answer it is, for failures.
 */
export async function* jsonTokens(
  source: AsyncIterable<Buffer>,
  names: ReadonlySet<string>,
  what: string,
): AsyncGenerator<JsonToken, void, undefined> {
  let rest = Buffer.allocUnsafe(16 * 1024)
  let restBytes = 0
  const open: number[] = []
  let place: 'between' | 'kept text' | 'told text' = 'between'
  /** The last sign that was no part of a text: it tells a name from a value. */
  let lastSign = 0
  let isName = false
  let isEscaped = false
  /** Where in what is kept the text under way begins. */
  let textStart = 0
  let name = ''
  let isEmpty = true
  let told = createUnescaper(what)

  function keep(bytes: Buffer): void {
    const needed = restBytes + bytes.length
    if (needed > longestRestBytes)
      throw new ProviderFailure('unknown', `${what} answered with too large a body`)
    if (needed > rest.length) {
      const larger = Buffer.allocUnsafe(Math.min(longestRestBytes, Math.max(needed, rest.length * 2)))
      rest.copy(larger, 0, 0, restBytes)
      rest = larger
    }
    restBytes += bytes.copy(rest, restBytes)
  }

  /** Answers where the text begins or the document ends, or the chunk does. */
  function passBetween(chunk: Buffer, start: number): number {
    for (let at = start; at < chunk.length; at += 1) {
      const byte = chunk[at] as number
      if (open.length === 0 && byte > 0x20 && byte !== openBrace && byte !== openBracket) {
        throw new ProviderFailure('unknown', `${what} answered something other than JSON`)
      }
      if (byte === quote) return at
      if (byte === openBrace || byte === openBracket) {
        open.push(byte)
        if (open.length > deepest)
          throw new ProviderFailure('unknown', `${what} answered JSON that is too deep`)
      } else if (byte === closeBrace || byte === closeBracket) {
        open.pop()
        if (open.length === 0) return at
      } else if (byte !== comma && byte !== colon) continue
      lastSign = byte
    }
    return chunk.length
  }

  /** Answers where the closing quote of a kept text is, or where the chunk ends. */
  function passText(chunk: Buffer, start: number): number {
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
      if (place === 'between') {
        const end = passBetween(chunk, at)
        keep(chunk.subarray(at, end + 1))
        at = end + 1
        if (at > chunk.length) continue
        if (chunk[end] === quote) {
          isName = open.at(-1) === openBrace && lastSign !== colon
          const isTold = !isName && open.at(-1) === openBrace && names.has(name)
          place = isTold ? 'told text' : 'kept text'
          textStart = restBytes
          isEmpty = true
          isEscaped = false
          told = createUnescaper(what)
        } else {
          const text = rest.toString('utf8', 0, restBytes)
          restBytes = 0
          lastSign = 0
          yield { kind: 'document', value: parseJson(text) }
        }
      } else if (place === 'kept text') {
        const end = passText(chunk, at)
        keep(chunk.subarray(at, end + 1))
        at = end + 1
        if (at > chunk.length) continue
        if (isName) name = nameIn(rest.subarray(textStart, restBytes))
        place = 'between'
      } else {
        const { next, isEnd, bytes } = told.take(chunk, at)
        at = next
        if (isEmpty && bytes.length > 0) {
          isEmpty = false
          keep(Buffer.from(standIn))
        }
        if (isEnd) {
          keep(Buffer.from('"'))
          place = 'between'
        }
        if (bytes.length > 0 || isEnd) yield { kind: 'text', name, bytes, isEnd }
      }
    }
  }
  if (open.length > 0) throw new ProviderFailure('unknown', `${what} broke off in the middle of its JSON`)
}

/** The name that these bytes, closing quote included, spell. */
function nameIn(bytes: Buffer): string {
  const name = parseJson(`"${bytes.toString('utf8')}`)
  return typeof name === 'string' ? name : ''
}

/** What a backslash and one of these letters stand for; any other letter stands for itself here. */
const escapes = new Map([
  [0x6e, 0x0a],
  [0x72, 0x0d],
  [0x74, 0x09],
])

/** Undoes the escapes of one text, which may be cut anywhere. Some writers put them into base64: `\/`, `\u003d`. */
function createUnescaper(what: string) {
  let state: 'plain' | 'escaped' | 'hex' = 'plain'
  let hex = ''

  /** Takes bytes up to the closing quote. */
  function take(chunk: Buffer, start: number): { next: number; isEnd: boolean; bytes: Buffer } {
    const end = chunk.indexOf(quote, start)
    const plainEnd = end < 0 ? chunk.length : end
    const firstEscape = chunk.subarray(start, plainEnd).indexOf(backslash)
    if (state === 'plain' && firstEscape < 0) {
      return { next: plainEnd + 1, isEnd: end >= 0, bytes: chunk.subarray(start, plainEnd) }
    }
    // What an escape stands for is never longer than the escape, unless most of it came with an earlier chunk.
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
