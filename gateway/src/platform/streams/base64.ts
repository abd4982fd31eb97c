import { yieldToEventLoop } from './yield-to-event-loop.ts'

export class NotBase64 extends Error {
  constructor() {
    super('The text is not valid base64.')
    this.name = 'NotBase64'
  }
}

/** How many characters are converted through one string; longer strings would burden the garbage collector. */
const stride = 48 * 1024

/** Decodes base64 without padding. */
const decodeLetters = (text: Buffer): Buffer => {
  const bytes = Buffer.allocUnsafe(Math.floor((text.length * 3) / 4))
  let to = 0
  for (let at = 0; at < text.length; at += stride) {
    to += bytes.write(text.toString('latin1', at, at + stride), to, 'base64')
  }
  // The decoder skips invalid characters, so a result that is too short means that there were some.
  if (to !== bytes.length) throw new NotBase64()
  return bytes
}

const encodeBytes = (bytes: Buffer): Buffer => {
  const text = Buffer.allocUnsafe(base64Length(bytes.length))
  let to = 0
  for (let at = 0; at < bytes.length; at += stride) {
    to += text.write(bytes.toString('base64', at, Math.min(bytes.length, at + stride)), to, 'latin1')
  }
  return text
}

const paddingSign = 0x3d

/**
 * Decodes base64 while it is read, with chunks split anywhere. Both alphabets are accepted and the padding is optional,
 * but no other characters are allowed.
 */
export async function* decodeBase64(
  source: AsyncIterable<Buffer> | Iterable<Buffer>,
): AsyncGenerator<Buffer, void, undefined> {
  let rest = Buffer.alloc(0)
  let padding = 0
  for await (const chunk of source) {
    const start = padding > 0 ? 0 : chunk.indexOf(paddingSign)
    const letters = start < 0 ? chunk : chunk.subarray(0, start)
    padding += chunk.length - letters.length
    // After padding only padding may follow, and at most two characters of it.
    if (padding > 2 || chunk.subarray(letters.length).some((byte) => byte !== paddingSign))
      throw new NotBase64()
    const text = rest.length === 0 ? letters : Buffer.concat([rest, letters])
    const end = text.length - (text.length % 4)
    rest = Buffer.from(text.subarray(end))
    if (end > 0) yield decodeLetters(text.subarray(0, end))
  }
  if (rest.length === 1 || padding > (4 - rest.length) % 4) throw new NotBase64()
  if (rest.length > 1) yield decodeLetters(rest)
}

/** Encodes bytes as base64 while they are read. */
export async function* encodeBase64(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let rest = Buffer.alloc(0)
  for await (const chunk of source) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    const wholeLength = bytes.length - (bytes.length % 3)
    rest = Buffer.from(bytes.subarray(wholeLength))
    if (wholeLength > 0) {
      await yieldToEventLoop()
      yield encodeBytes(bytes.subarray(0, wholeLength))
    }
  }
  if (rest.length > 0) yield encodeBytes(rest)
}

/** The length of the base64 text of this many bytes. */
export const base64Length = (sizeBytes: number): number => Math.ceil(sizeBytes / 3) * 4
