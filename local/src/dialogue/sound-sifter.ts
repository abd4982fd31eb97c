import { createBase64Decoder } from './base64-decoder.ts'

const quote = 0x22
const backslash = 0x5c
const colon = 0x3a
const space = 0x20
const soundKey = '"data"'

export type SiftedPart =
  | { kind: 'json'; bytes: Buffer }
  /** The next bytes of the audio with this number, or undefined if its text is not base64. */
  | { kind: 'sound'; sound: number; bytes: Buffer | undefined }

/**
 * Passes JSON through in chunks of any size. Strings under a key "data" are decoded from base64 and replaced by
 * `<mark>:<number>`.
 */
export function createSoundSifter(mark: string): (chunk: Buffer) => SiftedPart[] {
  let place: 'outside' | 'text' | 'sound' = 'outside'
  /** The characters after a backslash so far. */
  let escape: string | undefined
  /** The latest string with its quotes, cut to the length that is needed to compare it with the key. */
  let latest = ''
  let namesSound = false
  let sounds = 0
  let decoder = createBase64Decoder()
  let parts: SiftedPart[] = []

  const passOn = (bytes: Buffer) => parts.push({ kind: 'json', bytes })
  const hand = (bytes: Buffer | undefined) => parts.push({ kind: 'sound', sound: sounds, bytes })

  function outside(chunk: Buffer, from: number): number {
    let at = from
    while (at < chunk.length && chunk[at] !== quote) {
      const byte = chunk[at++]!
      if (byte <= space) continue
      namesSound = byte === colon && latest === soundKey
      latest = ''
    }
    if (at === chunk.length) {
      passOn(chunk.subarray(from))
      return at
    }
    passOn(chunk.subarray(from, at + 1))
    latest = '"'
    place = namesSound ? 'sound' : 'text'
    namesSound = false
    if (place === 'sound') {
      passOn(Buffer.from(`${mark}:${sounds}`))
      decoder = createBase64Decoder()
    }
    return at + 1
  }

  function text(chunk: Buffer, from: number): number {
    let at = from
    while (at < chunk.length && place === 'text') {
      const byte = chunk[at++]!
      if (latest.length <= soundKey.length) latest += String.fromCharCode(byte)
      if (escape !== undefined) escape = undefined
      else if (byte === backslash) escape = ''
      else if (byte === quote) place = 'outside'
    }
    passOn(chunk.subarray(from, at))
    return at
  }

  function sound(chunk: Buffer, from: number): number {
    if (escape !== undefined) {
      escape += String.fromCharCode(chunk[from]!)
      const meant = unescape(escape)
      if (meant !== undefined) {
        hand(decoder.take(meant))
        escape = undefined
      }
      return from + 1
    }
    if (chunk[from] === backslash) {
      escape = ''
      return from + 1
    }
    if (chunk[from] === quote) {
      hand(decoder.end())
      passOn(chunk.subarray(from, from + 1))
      sounds++
      latest = ''
      place = 'outside'
      return from + 1
    }
    const end = endOfRun(chunk, from)
    hand(decoder.take(chunk.toString('latin1', from, end)))
    return end
  }

  return (chunk) => {
    parts = []
    const read = { outside, text, sound }
    for (let at = 0; at < chunk.length;) at = read[place](chunk, at)
    return parts
  }
}

/** The position of the next end of the string or escape. */
function endOfRun(chunk: Buffer, from: number): number {
  const end = chunk.indexOf(quote, from)
  const run = end === -1 ? chunk.subarray(from) : chunk.subarray(from, end)
  const escape = run.indexOf(backslash)
  return from + (escape === -1 ? run.length : escape)
}

/** JSON may escape the slash, and any character by its code. */
function unescape(escape: string): string | undefined {
  if (escape === '/') return '/'
  if (!escape.startsWith('u')) return '\0'
  if (escape.length < 5) return undefined
  return /^u[0-9a-f]{4}$/iu.test(escape) ? String.fromCharCode(Number.parseInt(escape.slice(1), 16)) : '\0'
}
