import { sampleRate } from './music.ts'

const sourceLevel = 0.85
const musicLevel = 0.38
/** The fade at the ends and at the seam of the loop, which avoids clicks. */
const fadeSamples = Math.round(0.012 * sampleRate)

/**
 * Mixes soft music with the sound of a film that repeats every `periodSeconds`. Both are interleaved 16-bit stereo. The
 * result is as long as the music; `sound` may be shorter than its period.
 */
export function mixSound(music: Buffer, sound: Buffer, periodSeconds: number): Buffer {
  const source = samplesOf(sound)
  if (source.length === 0) return music
  const added = samplesOf(music)
  const mixed = new Int16Array(added.length)
  const period = Math.max(1, Math.round(periodSeconds * sampleRate))
  const length = Math.min(period, source.length / 2)
  const count = added.length / 2
  for (let index = 0; index < count; index++) {
    const at = index % period
    const fade = Math.min(1, at / fadeSamples, (length - at) / fadeSamples, (count - index) / fadeSamples)
    const level = at < length ? sourceLevel * fade : 0
    for (const side of [0, 1]) {
      const value = (source[at * 2 + side] ?? 0) * level + added[index * 2 + side]! * musicLevel
      mixed[index * 2 + side] = 32_000 * Math.tanh(value / 32_000)
    }
  }
  return Buffer.from(mixed.buffer)
}

function samplesOf(bytes: Buffer): Int16Array {
  // A copy, because a pooled buffer may be unaligned.
  return new Int16Array(new Uint8Array(bytes.subarray(0, bytes.length - (bytes.length % 4))).buffer)
}
