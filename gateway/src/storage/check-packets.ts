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
const zerosMax = 63
const zeros = Buffer.alloc(zerosMax + 1)
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

/** Checks packets from pieces of a file, in the order of the track. */
export interface PacketCheck {
  /** Where the next byte is that the check needs; undefined at the end. */
  next: () => number | undefined
  /** Checks what it needs of a piece that begins at `offset`. False if a packet is damaged. */
  add: (piece: Buffer, offset: number) => boolean
}

/** Whether a unit has a long run of zeros. A run may continue in the next piece. */
const createZeroSearch = () => {
  let before = 0
  return {
    start: () => {
      before = 0
    },
    isIn: (piece: Buffer): boolean => {
      let leading = 0
      while (leading < piece.length && piece[leading] === 0 && before + leading <= zerosMax) leading += 1
      if (before + leading > zerosMax || piece.includes(zeros)) return true
      let trailing = 0
      while (trailing < piece.length && piece[piece.length - 1 - trailing] === 0) trailing += 1
      before = trailing === piece.length ? before + trailing : trailing
      return false
    },
  }
}

/** Undefined for codecs whose packets cannot be checked. */
export const createPacketCheck = (table: Buffer): PacketCheck | undefined => {
  const lengthBytes = lengthBytesOf(table)
  if (lengthBytes === undefined) return undefined
  // With the first byte of the unit.
  const header = Buffer.alloc(lengthBytes + 1)
  const samples = samplesIn(table)
  const zeroSearch = createZeroSearch()
  let headerBytes = 0
  let at: number | undefined
  let sampleEnd = 0
  /** The end of the unit whose header is complete. */
  let unitEnd = 0
  let checkedBytes = 0
  let units = 0

  const nextSample = () => {
    do {
      const { value, done = false } = samples.next()
      if (done || value === undefined || checkedBytes > checkedBytesMax || units > unitsMax) {
        at = undefined
        return
      }
      at = value.offset
      sampleEnd = value.offset + value.sizeBytes
      checkedBytes += value.sizeBytes
    } while (at === sampleEnd)
    headerBytes = 0
    unitEnd = 0
  }
  const endUnit = (end: number) => {
    units += 1
    ;[headerBytes, unitEnd] = [0, 0]
    if (end === sampleEnd) nextSample()
  }
  /** Returns false if there is no room for a unit, or no unit has this header. */
  const readHeader = (from: number, piece: Buffer): boolean => {
    if (headerBytes === 0 && sampleEnd - from <= lengthBytes) return false
    const copied = piece.copy(header, headerBytes)
    headerBytes += copied
    at = from + copied
    if (headerBytes < header.length) return true
    const unitBytes = header.readUIntBE(0, lengthBytes)
    unitEnd = at - 1 + unitBytes
    // The first bit of a unit is zero.
    if (unitBytes === 0 || unitEnd > sampleEnd || header.readUInt8(lengthBytes) >= 0x80) return false
    zeroSearch.start()
    if (at === unitEnd) endUnit(at)
    return true
  }
  nextSample()
  return {
    next: () => at,
    add: (piece, offset) => {
      const end = offset + piece.length
      while (at !== undefined && at >= offset && at < end) {
        if (unitEnd === 0) {
          if (!readHeader(at, piece.subarray(at - offset))) return false
          continue
        }
        const part = piece.subarray(at - offset, Math.min(end, unitEnd) - offset)
        if (zeroSearch.isIn(part)) return false
        at += part.length
        if (at === unitEnd) endUnit(at)
      }
      return true
    },
  }
}

/** Whether the packets of a track are intact, as far as can be told without decoding. Other codecs count as intact. */
export const hasIntactPackets = async (file: FileHandle, table: Buffer): Promise<boolean> => {
  const check = createPacketCheck(table)
  if (check === undefined) return true
  const piece = Buffer.allocUnsafe(windowBytes)
  for (let at = check.next(); at !== undefined; at = check.next()) {
    const { bytesRead } = await file.read(piece, 0, windowBytes, at)
    // A packet is outside of the file.
    if (bytesRead === 0) return false
    if (!check.add(piece.subarray(0, bytesRead), at)) return false
  }
  return true
}
