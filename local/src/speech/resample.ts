import type { Sound } from './encode-speech.ts'

const bytesPerSample = 2

/** Resamples a sound by linear interpolation. */
export function resampled(sound: Sound, samplesPerSecond: number): Sound {
  if (sound.samplesPerSecond === samplesPerSecond) return sound
  const step = sound.samplesPerSecond / samplesPerSecond

  async function* samples(signal: AbortSignal): AsyncGenerator<Buffer> {
    let held: Buffer = Buffer.alloc(0)
    // The position of the next output sample, in input samples.
    let position = 0
    for await (const chunk of sound.samples(signal)) {
      held = Buffer.concat([held, chunk])
      const last = Math.floor(held.length / bytesPerSample) - 1
      const count = Math.max(0, Math.ceil((last - position) / step))
      const made = Buffer.alloc(count * bytesPerSample)
      for (let index = 0; index < count; index++) {
        const place = Math.floor(position)
        const before = held.readInt16LE(place * bytesPerSample)
        const after = held.readInt16LE((place + 1) * bytesPerSample)
        made.writeInt16LE(Math.round(before + (after - before) * (position - place)), index * bytesPerSample)
        position += step
      }
      const passed = Math.min(Math.floor(position), Math.max(0, last))
      held = held.subarray(passed * bytesPerSample)
      position -= passed
      if (made.length > 0) yield made
    }
  }

  return { samplesPerSecond, samples }
}
