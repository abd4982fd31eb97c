/**
 * Measures uncompressed WAV files from their chunk table. Starting a program blocks a large process for ten milliseconds
 * or more, and most recordings inside JSON requests are uncompressed WAV. Only files that every decoder reads in the same
 * way are measured here: known chunks, one format, and data up to the end of the file.
 */
import { open, type FileHandle } from 'node:fs/promises'

const chunksMax = 64
const headerBytes = 12
const sampleBits = [8, 16, 24, 32, 64]
/** Integer and floating-point PCM. Other encodings are left to ffmpeg. */
const pcmKinds = [1, 3]
const extensibleKind = 0xfffe
const extensibleBytes = 40
/** The rest of the name of an encoding in an extensible format, after its kind. */
const encodingTail = Buffer.from('000000001000800000aa00389b71', 'hex')
/** Chunks with metadata. */
const ignoredChunks = new Set([
  'LIST',
  'JUNK',
  'junk',
  'FLLR',
  'PAD ',
  'fact',
  'bext',
  'PEAK',
  'cue ',
  'id3 ',
])

/** The beginning of a block of compressed audio in 16-bit stereo (IEC 61937). ffmpeg looks for it here, and decodes it. */
const burstSync = Buffer.from('72f81f4e', 'hex')
const burstSearchBytes = 65_536
const burstFrameBytes = 4

interface Format {
  sampleRate: number
  /** Bytes of one sample of every channel. */
  frameBytes: number
}

const readAt = async (file: FileHandle, position: number, length: number): Promise<Buffer> => {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, position)
  return buffer.subarray(0, bytesRead)
}

/** The kind of an extensible format, if all bits of its samples are used. */
const extensibleKindIn = (chunk: Buffer): number | undefined =>
  chunk.length === extensibleBytes &&
  chunk.readUInt16LE(18) === chunk.readUInt16LE(14) &&
  chunk.subarray(26).equals(encodingTail)
    ? chunk.readUInt16LE(24)
    : undefined

const formatIn = (chunk: Buffer): Format | undefined => {
  if (chunk.length < 16) return undefined
  const named = chunk.readUInt16LE(0)
  const kind = named === extensibleKind ? extensibleKindIn(chunk) : named
  const channels = chunk.readUInt16LE(2)
  const sampleRate = chunk.readUInt32LE(4)
  const frameBytes = chunk.readUInt16LE(12)
  const bits = chunk.readUInt16LE(14)
  const isPcm =
    kind !== undefined &&
    pcmKinds.includes(kind) &&
    sampleBits.includes(bits) &&
    channels >= 1 &&
    channels <= 8 &&
    frameBytes === (channels * bits) / 8 &&
    sampleRate >= 1_000 &&
    sampleRate <= 384_000
  return isPcm ? { sampleRate, frameBytes } : undefined
}

const holdsBursts = async (file: FileHandle, start: number, { frameBytes }: Format): Promise<boolean> =>
  frameBytes === burstFrameBytes && (await readAt(file, start, burstSearchBytes)).includes(burstSync)

const secondsOfData = async (
  file: FileHandle,
  format: Format,
  { start, statedBytes, sizeBytes }: { start: number; statedBytes: number; sizeBytes: number },
): Promise<number | undefined> => {
  const bytes = sizeBytes - start
  // A writer that streams does not know the length and writes 0 or too much. Data of odd length may be padded.
  const isToTheEnd = statedBytes === 0 || statedBytes >= bytes || statedBytes + (statedBytes % 2) === bytes
  if (!isToTheEnd || (await holdsBursts(file, start, format))) return undefined
  const frames = Math.floor(bytes / format.frameBytes)
  return frames > 0 ? frames / format.sampleRate : undefined
}

/** The duration in seconds; undefined for any other or malformed file. */
export const measureWave = async (path: string): Promise<number | undefined> => {
  await using file = await open(path)
  const { size: sizeBytes } = await file.stat()
  const head = await readAt(file, 0, headerBytes)
  if (head.toString('latin1', 0, 4) !== 'RIFF' || head.toString('latin1', 8, 12) !== 'WAVE') return undefined
  let format: Format | undefined
  let position = headerBytes
  for (let chunks = 0; chunks < chunksMax; chunks++) {
    const chunk = await readAt(file, position, 8)
    if (chunk.length < 8) return undefined
    const name = chunk.toString('latin1', 0, 4)
    const statedBytes = chunk.readUInt32LE(4)
    const start = position + 8
    if (name === 'data') return format && secondsOfData(file, format, { start, statedBytes, sizeBytes })
    if (name === 'fmt ') {
      if (format !== undefined || statedBytes > extensibleBytes) return undefined
      format = formatIn(await readAt(file, start, statedBytes))
      if (format === undefined) return undefined
    } else if (!ignoredChunks.has(name)) return undefined
    position = start + statedBytes + (statedBytes % 2)
  }
  return undefined
}
