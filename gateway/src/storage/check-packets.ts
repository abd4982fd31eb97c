/**
 * Checks every packet of an H.264 or H.265 track without decoding it. A packet is a sequence of units, each after its length,
 * which must fill the packet exactly. The encoding never has three zero bytes in a row, so a long run of them is damage.
 * Zeroed, shifted and overwritten parts of a file are found; other bytes inside of a unit are not.
 */
import type { FileHandle } from 'node:fs/promises'

import { child } from './mp4-boxes.ts'

/** Bounds the work on a file that is large, or whose tables name the same bytes again and again. */
const checkedBytesMax = 256 * 1024 * 1024
const unitsMax = 1_000_000
const samplesMax = 1_000_000
const windowBytes = 1024 * 1024
/** Some encoders leave a few zero bytes at the end of a unit. */
const zeros = Buffer.alloc(64)
/** The fixed part of a video sample entry, before its boxes. */
const entryBytes = 86

/** How many bytes the length of a unit has; undefined for other codecs. */
const lengthBytesOf = (table: Buffer): number | undefined => {
  const entry = child(table, 'stsd')?.subarray(8)
  if (entry === undefined || entry.length < entryBytes) return undefined
  const boxes = entry.subarray(entryBytes, entry.readUInt32BE(0))
  const avc = child(boxes, 'avcC')
  const hevc = child(boxes, 'hvcC')
  if (avc !== undefined) return (avc.readUInt8(4) & 3) + 1
  return hevc === undefined ? undefined : (hevc.readUInt8(21) & 3) + 1
}

interface Sample {
  offset: number
  sizeBytes: number
}

/** The places of the samples, in the order of the chunks that contain them. */
function* samplesIn(table: Buffer): Generator<Sample> {
  const sizes = child(table, 'stsz')
  const perChunk = child(table, 'stsc')
  const short = child(table, 'stco')
  const offsets = short ?? child(table, 'co64')
  if (sizes === undefined || perChunk === undefined || offsets === undefined) return
  const fixedBytes = sizes.readUInt32BE(4)
  const sampleCount = Math.min(samplesMax, sizes.readUInt32BE(8))
  const groups = perChunk.readUInt32BE(4)
  const chunks = offsets.readUInt32BE(4)
  let group = 0
  let sample = 0
  for (let chunk = 0; chunk < chunks && sample < sampleCount; chunk += 1) {
    while (group + 1 < groups && perChunk.readUInt32BE(8 + (group + 1) * 12) <= chunk + 1) group += 1
    const count = perChunk.readUInt32BE(12 + group * 12)
    let offset =
      short === undefined
        ? Number(offsets.readBigUInt64BE(8 + chunk * 8))
        : offsets.readUInt32BE(8 + chunk * 4)
    for (let index = 0; index < count && sample < sampleCount; index += 1) {
      const sizeBytes = fixedBytes === 0 ? sizes.readUInt32BE(12 + sample * 4) : fixedBytes
      yield { offset, sizeBytes }
      offset += sizeBytes
      sample += 1
    }
  }
}

/** Reads a file in large pieces. */
const createWindow = (file: FileHandle, fileBytes: number) => {
  const buffer = Buffer.allocUnsafe(windowBytes)
  let start = 0
  let end = 0
  return {
    /** Reads the piece from `offset` unless these bytes are in the current one. */
    moveTo: async (offset: number, length: number) => {
      if (offset + length > fileBytes) throw new RangeError('a packet is outside of the file')
      const { bytesRead } = await file.read(buffer, 0, windowBytes, offset)
      start = offset
      end = offset + bytesRead
    },
    contains: (offset: number, length: number) => offset >= start && offset + length <= end,
    /** The bytes from `offset` that are in the current piece, up to `length`. */
    bytesAt: (offset: number, length: number) =>
      buffer.subarray(offset - start, Math.min(end, offset + length) - start),
  }
}

/** Whether the packets of a track are intact, as far as can be told without decoding. Other codecs count as intact. */
export const hasIntactPackets = async (
  file: FileHandle,
  table: Buffer,
  fileBytes: number,
): Promise<boolean> => {
  const lengthBytes = lengthBytesOf(table)
  if (lengthBytes === undefined) return true
  const window = createWindow(file, fileBytes)
  let checkedBytes = 0
  let units = 0
  for (const { offset, sizeBytes } of samplesIn(table)) {
    const end = offset + sizeBytes
    for (let at = offset; at < end;) {
      if (end - at <= lengthBytes) return false
      // With the first byte of the unit.
      const headerBytes = lengthBytes + 1
      if (!window.contains(at, headerBytes)) await window.moveTo(at, headerBytes)
      const header = window.bytesAt(at, headerBytes)
      const unitBytes = header.readUIntBE(0, lengthBytes)
      at += lengthBytes
      // The first bit of a unit is zero.
      if (unitBytes === 0 || at + unitBytes > end || header.readUInt8(lengthBytes) >= 0x80) return false
      for (const unitEnd = at + unitBytes; at < unitEnd;) {
        if (!window.contains(at, 1)) await window.moveTo(at, unitEnd - at)
        const piece = window.bytesAt(at, unitEnd - at)
        if (piece.includes(zeros)) return false
        at += piece.length
      }
      units += 1
    }
    checkedBytes += sizeBytes
    if (checkedBytes > checkedBytesMax || units > unitsMax) return true
  }
  return true
}
