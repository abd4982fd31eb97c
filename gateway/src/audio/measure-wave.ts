/**
 * Measures uncompressed WAV files from their chunk table. Starting ffprobe blocks a large process for ten milliseconds
 * or more, and most recordings inside JSON requests are uncompressed WAV.
 */
import { open, type FileHandle } from 'node:fs/promises'

const chunksMax = 64
const headerBytes = 12
const formatBytesMax = 40
const sampleBits = [8, 16, 24, 32, 64]
/** Integer and floating-point PCM. Other encodings are left to ffprobe. */
const pcmKinds = [1, 3]
const extensibleKind = 0xfffe

interface Format {
  sampleRate: number
  /** Bytes of one sample of every channel. */
  frameBytes: number
}

const readAt = async (file: FileHandle, position: number, length: number): Promise<Buffer> => {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}

const formatIn = (chunk: Buffer): Format | undefined => {
  if (chunk.length < 16) return undefined
  const named = chunk.readUInt16LE(0)
  const kind = named === extensibleKind && chunk.length >= 26 ? chunk.readUInt16LE(24) : named
  const channels = chunk.readUInt16LE(2)
  const sampleRate = chunk.readUInt32LE(4)
  const frameBytes = chunk.readUInt16LE(12)
  const bits = chunk.readUInt16LE(14)
  const isPcm =
    pcmKinds.includes(kind) &&
    sampleBits.includes(bits) &&
    channels >= 1 &&
    channels <= 8 &&
    frameBytes === (channels * bits) / 8 &&
    sampleRate >= 1_000 &&
    sampleRate <= 384_000
  return isPcm ? { sampleRate, frameBytes } : undefined
}

/** The duration in seconds; undefined for any other or malformed file. */
export const measureWave = async (path: string): Promise<number | undefined> => {
  await using file = await open(path)
  const { size } = await file.stat()
  const head = await readAt(file, 0, headerBytes)
  if (head.toString('latin1', 0, 4) !== 'RIFF' || head.toString('latin1', 8, 12) !== 'WAVE') return undefined
  let format: Format | undefined
  let position = headerBytes
  for (let chunks = 0; chunks < chunksMax; chunks++) {
    const chunk = await readAt(file, position, 8)
    if (chunk.length < 8) return undefined
    const name = chunk.toString('latin1', 0, 4)
    const length = chunk.readUInt32LE(4)
    const start = position + 8
    if (name === 'fmt ') format = formatIn(await readAt(file, start, Math.min(length, formatBytesMax)))
    if (name === 'data') {
      if (format === undefined) return undefined
      // A writer that streams does not know the length and writes 0 or too much, so the file size is the limit.
      const bytes = Math.min(length === 0 ? Infinity : length, size - start)
      const frames = Math.floor(bytes / format.frameBytes)
      return frames > 0 ? frames / format.sampleRate : undefined
    }
    position = start + length + (length % 2)
  }
  return undefined
}
