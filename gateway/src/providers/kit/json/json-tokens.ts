import {
  createStructure,
  createTextScan,
  createUnescaper,
  quote,
} from '../../../platform/streams/json-scanner.ts'
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
const openBracket = 0x5b
const openBrace = 0x7b

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
  const notJson = () => new ProviderFailure('unknown', `${what} answered something other than JSON`)
  const tooDeep = () => new ProviderFailure('unknown', `${what} answered JSON that is too deep`)
  const structure = createStructure({ depthMax, tooDeep })
  let state: 'between' | 'buffered text' | 'streamed text' = 'between'
  let isName = false
  /** Where the current text begins in the buffer. */
  let textStart = 0
  let name = ''
  let isEmpty = true
  let findQuote = createTextScan()
  let unescaper = createUnescaper(notJson)

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

  /** Between documents only whitespace and an opening bracket are allowed. */
  function assertDocument(chunk: Buffer, start: number): void {
    if (!structure.isBetweenDocuments()) return
    const first = chunk.subarray(start).find((byte) => byte > 0x20)
    if (first !== undefined && first !== openBrace && first !== openBracket) throw notJson()
  }

  for await (const chunk of source) {
    let at = 0
    while (at < chunk.length) {
      if (state === 'between') {
        assertDocument(chunk, at)
        const end = structure.scan(chunk, at)
        buffer(chunk.subarray(at, end + 1))
        at = end + 1
        if (at > chunk.length) continue
        if (chunk[end] === quote) {
          isName = structure.isName()
          const isStreamed = !isName && structure.isInObject() && names.has(name)
          state = isStreamed ? 'streamed text' : 'buffered text'
          textStart = restBytes
          isEmpty = true
          findQuote = createTextScan()
          unescaper = createUnescaper(notJson)
        } else {
          const text = rest.toString('utf8', 0, restBytes)
          restBytes = 0
          yield { kind: 'document', value: parseJson(text) }
        }
      } else if (state === 'buffered text') {
        const end = findQuote(chunk, at, chunk.length)
        buffer(chunk.subarray(at, end + 1))
        at = end + 1
        if (at > chunk.length) continue
        if (isName) name = nameIn(rest.subarray(textStart, restBytes))
        state = 'between'
      } else {
        const { next, isEnd, text: bytes } = unescaper.take(chunk, at)
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
  if (!structure.isBetweenDocuments())
    throw new ProviderFailure('unknown', `${what} broke off in the middle of its JSON`)
}

/** Parses a name; the bytes include the closing quote. */
function nameIn(bytes: Buffer): string {
  const name = parseJson(`"${bytes.toString('utf8')}`)
  return typeof name === 'string' ? name : ''
}
