import { sampleRate } from './music.ts'

const ownLevel = 0.85
const musicLevel = 0.38
/** So that neither the ends nor the seam of a loop clicks. */
const seamSamples = Math.round(0.012 * sampleRate)

/**
 * Lays the music softly over the sound of a film that repeats every `periodSeconds`. Both are
 * interleaved 16-bit stereo; the result is as long as the music, and `sound` may be shorter than its period.
 */
export function mixSound(music: Buffer, sound: Buffer, periodSeconds: number): Buffer {
  const own = samplesOf(sound)
  if (own.length === 0) return music
  const fresh = samplesOf(music)
  const mixed = new Int16Array(fresh.length)
  const period = Math.max(1, Math.round(periodSeconds * sampleRate))
  const length = Math.min(period, own.length / 2)
  const count = fresh.length / 2
  for (let index = 0; index < count; index++) {
    const at = index % period
    const fade = Math.min(1, at / seamSamples, (length - at) / seamSamples, (count - index) / seamSamples)
    const level = at < length ? ownLevel * fade : 0
    for (const side of [0, 1]) {
      const value = (own[at * 2 + side] ?? 0) * level + fresh[index * 2 + side]! * musicLevel
      mixed[index * 2 + side] = 32_000 * Math.tanh(value / 32_000)
    }
  }
  return Buffer.from(mixed.buffer)
}

function samplesOf(bytes: Buffer): Int16Array {
  // A copy, because a buffer from the pool may start at an odd address.
  return new Int16Array(new Uint8Array(bytes.subarray(0, bytes.length - (bytes.length % 4))).buffer)
}
