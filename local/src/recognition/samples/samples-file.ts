import { open } from 'node:fs/promises'

import { samplesPerSecond } from './mel.ts'

/** Decoded sound on disk: 16-bit mono at 16 kHz. Only the part in use is in memory. */
export interface SamplesFile {
  sampleCount: number
  seconds: number
  /** Values from -1 to 1. A range outside the file is cut. */
  read: (from: number, until: number) => Promise<Float32Array>
  readSeconds: (start: number, end: number) => Promise<Float32Array>
  close: () => Promise<void>
}

export const bytesPerSample = 2

export async function openSamples(file: string): Promise<SamplesFile> {
  const handle = await open(file, 'r')
  const { size } = await handle.stat()
  const sampleCount = Math.floor(size / bytesPerSample)

  async function read(from: number, until: number): Promise<Float32Array> {
    const first = Math.max(0, from)
    const count = Math.max(0, Math.min(until, sampleCount) - first)
    const bytes = Buffer.alloc(count * bytesPerSample)
    let filled = 0
    while (filled < bytes.length) {
      const place = first * bytesPerSample + filled
      const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, place)
      if (bytesRead === 0) throw new Error('The decoded sound became shorter.')
      filled += bytesRead
    }
    const samples = new Float32Array(count)
    for (let index = 0; index < count; index++) samples[index] = bytes.readInt16LE(index * 2) / 32_768
    return samples
  }

  return {
    sampleCount,
    seconds: sampleCount / samplesPerSecond,
    read,
    readSeconds: (start, end) =>
      read(Math.round(start * samplesPerSecond), Math.round(end * samplesPerSecond)),
    close: () => handle.close(),
  }
}
