/** Hashes the content of a request, to find out whether two requests are equal. */
import { createHash, type Hash } from 'node:crypto'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'

import type { Call } from '../http/call.ts'

const sliceLength = 256 * 1024

/** Long texts are hashed in slices, so that other requests are served in between. */
const addText = async (hash: Hash, text: string): Promise<void> => {
  hash.update(`s${text.length}:`)
  for (let start = 0; start < text.length; start += sliceLength) {
    if (start > 0) await yieldToEventLoop()
    // UTF-16 as in memory: UTF-8 would map different lone surrogates to the same bytes.
    hash.update(text.slice(start, start + sliceLength), 'utf16le')
  }
}

const addValue = async (hash: Hash, value: unknown, longText: Call['longText']): Promise<void> => {
  const spooled = longText(value)
  if (spooled !== undefined) {
    hash.update(`l${spooled.sizeBytes}:`)
    for await (const chunk of spooled.open() as AsyncIterable<Buffer>) hash.update(chunk)
  } else if (typeof value === 'string') await addText(hash, value)
  else if (Array.isArray(value)) {
    hash.update(`a${value.length}:`)
    for (const item of value) await addValue(hash, item, longText)
  } else if (typeof value === 'object' && value !== null) {
    // The order of members has no meaning.
    const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
    hash.update(`o${members.length}:`)
    for (const [name, member] of members) {
      await addText(hash, name)
      await addValue(hash, member, longText)
    }
  } else hash.update(`v${String(value)};`)
}

/** Equal for the same operation, path and body, independent of the formatting of the body; files count by content. */
export const fingerprintOf = async (
  operation: string,
  { path, fields, longText }: Pick<Call, 'path' | 'fields' | 'longText'>,
): Promise<Buffer> => {
  const hash = createHash('sha256')
  await addValue(hash, [operation, path, fields.source], () => undefined)
  for (const name of fields.names().toSorted()) {
    await addText(hash, name)
    await addValue(hash, fields.value(name), longText)
    await addValue(
      hash,
      fields.files(name).map(({ sha256 }) => sha256),
      longText,
    )
  }
  return hash.digest()
}
