/** Checks the packets of an MP4 while it arrives. That is possible if its tables are before them. */
import { createPacketCheck, type PacketCheck } from './check-packets.ts'
import { headerAt } from './mp4-boxes.ts'
import { sampleTablesOf } from './probe-mp4.ts'

interface ArrivingCheck {
  add: (chunk: Buffer) => void
  /** Undefined if the packets could not be checked. */
  packetsAreIntact: () => boolean | undefined
}

const headerBytesMax = 16
/** Tables that are larger are read from the file, because they are in memory while they arrive. */
const tablesBytesMax = 1024 * 1024

/** Gathers the tables from the chunks of a file. */
const createTableReader = () => {
  const header = Buffer.alloc(headerBytesMax)
  let headerBytes = 0
  let boxStart = 0
  let tables: { start: number; buffer: Buffer; filled: number } | undefined
  let isOver = false

  /** Takes from a chunk what belongs to the header of the next box. */
  const readHeader = (chunk: Buffer, chunkStart: number) => {
    headerBytes += chunk.copy(header, headerBytes, boxStart + headerBytes - chunkStart)
    const box = headerAt(header.subarray(0, headerBytes), boxStart, Infinity)
    if (box === undefined) isOver = headerBytes === headerBytesMax
    else if (box.type === 'moov' && box.end - box.start <= tablesBytesMax)
      tables = { start: box.start, buffer: Buffer.alloc(box.end - box.start), filled: 0 }
    else {
      isOver = box.type === 'mdat' || box.type === 'moov' || (boxStart === 0 && box.type !== 'ftyp')
      ;[boxStart, headerBytes] = [box.end, 0]
    }
  }
  return {
    isOver: () => isOver,
    /** Returns the tables with the chunk that completes them. */
    add: (chunk: Buffer, chunkStart: number): Buffer | undefined => {
      const chunkEnd = chunkStart + chunk.length
      while (!isOver && tables === undefined && boxStart + headerBytes < chunkEnd)
        readHeader(chunk, chunkStart)
      if (tables === undefined) return undefined
      const from = Math.max(0, tables.start + tables.filled - chunkStart)
      tables.filled += chunk.copy(tables.buffer, tables.filled, from)
      if (tables.filled < tables.buffer.length) return undefined
      isOver = true
      return tables.buffer
    },
  }
}

export const createArrivingCheck = (): ArrivingCheck => {
  const reader = createTableReader()
  let position = 0
  let check: PacketCheck | undefined
  let isIntact: boolean | undefined

  const begin = (movie: Buffer) => {
    const tables = sampleTablesOf(movie)
    check = tables && createPacketCheck(tables)
    if (tables !== undefined && check === undefined) isIntact = true
  }
  /** Packets whose order is not that of the file have passed by already. */
  const isPast = (offset: number | undefined) => offset !== undefined && offset < position
  const addChunk = (chunk: Buffer) => {
    if (check === undefined) {
      const movie = reader.isOver() ? undefined : reader.add(chunk, position)
      if (movie !== undefined) begin(movie)
    }
    if (check === undefined) return
    if (!check.add(chunk, position)) {
      isIntact = false
      check = undefined
    }
  }
  return {
    add: (chunk) => {
      try {
        addChunk(chunk)
      } catch (error) {
        // An offset outside of its table means that the file is corrupt.
        if (!(error instanceof RangeError)) throw error
        ;[check, isIntact] = [undefined, false]
      }
      position += chunk.length
      if (check !== undefined && isPast(check.next())) check = undefined
    },
    packetsAreIntact: () => (check === undefined ? isIntact : check.next() === undefined),
  }
}
