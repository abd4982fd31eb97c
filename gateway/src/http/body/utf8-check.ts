/** Checks that bytes are UTF-8 while they arrive; a character may be split between chunks. */
import { isUtf8 } from 'node:buffer'

import { ApiError } from '@kinora/contract/errors'

const notUtf8 = () =>
  new ApiError('invalid_request', { message: 'The body is not valid UTF-8. Send the JSON encoded as UTF-8.' })

const isContinuation = (byte: number) => (byte & 0xc0) === 0x80

/** The length of the character that this byte begins; 1 for a byte that cannot begin one, which is refused later. */
const lengthOf = (lead: number): number => {
  if (lead >= 0xf0 && lead < 0xf8) return 4
  if (lead >= 0xe0 && lead < 0xf0) return 3
  return lead >= 0xc0 && lead < 0xe0 ? 2 : 1
}

/** Where the incomplete character at the end of these bytes begins; their length if there is none. */
const startOfIncomplete = (bytes: Buffer): number => {
  const first = Math.max(0, bytes.length - 3)
  for (let at = bytes.length - 1; at >= first; at -= 1) {
    const byte = bytes[at] as number
    if (!isContinuation(byte)) return at + lengthOf(byte) > bytes.length ? at : bytes.length
  }
  return bytes.length
}

export const createUtf8Check = () => {
  /** The beginning of a character whose end has not arrived yet; at most three bytes. */
  let incomplete = Buffer.alloc(0)

  return {
    /** Throws if the bytes so far cannot be the beginning of valid UTF-8. */
    take: (chunk: Buffer): void => {
      let rest = chunk
      if (incomplete.length > 0) {
        const missing = lengthOf(incomplete[0] as number) - incomplete.length
        const character = Buffer.concat([incomplete, chunk.subarray(0, missing)])
        if (chunk.length < missing) {
          incomplete = character
          return
        }
        if (!isUtf8(character)) throw notUtf8()
        rest = chunk.subarray(missing)
      }
      const end = startOfIncomplete(rest)
      if (!isUtf8(rest.subarray(0, end))) throw notUtf8()
      incomplete = Buffer.from(rest.subarray(end))
    },
    /** Throws if the last character is incomplete. */
    end: (): void => {
      if (incomplete.length > 0) throw notUtf8()
    },
  }
}
