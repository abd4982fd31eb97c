import { readFile } from 'node:fs/promises'

import { token } from './whisper-tokens.ts'

/** Converts text to token ids and back with byte-level byte-pair encoding. */
export interface WhisperText {
  encode: (text: string) => number[]
  /** Special tokens and times have no text. */
  decode: (ids: readonly number[]) => string
  bytesOf: (id: number) => Uint8Array
}

interface TokenizerFile {
  model: { vocab: Record<string, number>; merges: (string | [string, string])[] }
}

const utf8 = new TextEncoder()
const noBytes = new Uint8Array(0)
const splitPattern = /'(?:s|t|re|ve|m|ll|d)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu

export async function readWhisperText(file: string): Promise<WhisperText> {
  const { model } = JSON.parse(await readFile(file, 'utf8')) as TokenizerFile
  const ids = new Map(Object.entries(model.vocab))
  const ranks = new Map(
    model.merges.map((merge, rank) => [typeof merge === 'string' ? merge : merge.join(' '), rank]),
  )
  const letters = byteLetters()
  const byteOf = new Map(letters.map((letter, byte) => [letter, byte]))
  const bytes: Uint8Array[] = []
  for (const [written, id] of ids) {
    if (id < token.end) bytes[id] = Uint8Array.from(written, (letter) => byteOf.get(letter) ?? 0)
  }

  function encodePart(chunk: string): number[] {
    let parts = Array.from(utf8.encode(chunk), (byte) => letters[byte]!)
    for (;;) {
      let best = -1
      let bestRank = Infinity
      for (let place = 0; place < parts.length - 1; place++) {
        const rank = ranks.get(`${parts[place]} ${parts[place + 1]}`)
        if (rank === undefined || rank >= bestRank) continue
        best = place
        bestRank = rank
      }
      if (best === -1) return parts.flatMap((part) => ids.get(part) ?? [])
      parts = parts.toSpliced(best, 2, parts[best]! + parts[best + 1]!)
    }
  }

  const bytesOf = (id: number) => bytes[id] ?? noBytes
  return {
    encode: (text) => (text.match(splitPattern) ?? []).flatMap(encodePart),
    decode: (tokens) => new TextDecoder().decode(Buffer.concat(tokens.map(bytesOf))),
    bytesOf,
  }
}

/** The vocabulary represents each byte by a visible character: itself if visible, else a character from U+0100 on. */
function byteLetters(): string[] {
  let next = 0x1_00
  return Array.from({ length: 256 }, (_, byte) => {
    const visible = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 255 && byte !== 173)
    return String.fromCharCode(visible ? byte : next++)
  })
}
