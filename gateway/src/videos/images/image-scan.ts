/**
 * Follows the structure of an image while its bytes pass, and so finds one that was cut off without decoding it. Only
 * the structure is followed: checksums and pixels are for whoever decodes it, and decoders differ in what they forgive.
 */

/** What is known of an image once all of its bytes have passed. */
export interface ImageScan {
  /** Looks at the next bytes and keeps none of them. */
  take: (chunk: Buffer) => void
  /** By its first bytes; undefined for anything but PNG, JPEG, WebP and GIF. */
  contentType: () => string | undefined
  /** Whether everything up to the end of the image was there. What follows its end does not matter. */
  isComplete: () => boolean
  /** Whether no further bytes can change any of this. */
  isOver: () => boolean
}

/** Enough to tell what it is, and less than any image has. */
const headBytes = 16

/** The image's type by its first bytes. */
export const imageTypeOf = (head: Buffer): string | undefined => {
  const text = head.toString('latin1', 0, headBytes)
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (text.startsWith('\xff\xd8\xff')) return 'image/jpeg'
  if (text.startsWith('GIF87a') || text.startsWith('GIF89a')) return 'image/gif'
  if (text.startsWith('RIFF') && text.slice(8, 12) === 'WEBP') return 'image/webp'
  return undefined
}

type End = 'complete' | 'broken'
type Next = Step | End

const complete = (): Next => 'complete'

/** Passes over `skip` bytes, then looks at `count` of them, which are in `bytes` from `at`. */
interface Look {
  skip: number
  count: number
  decide: (bytes: Buffer, at: number) => Next
}

/** Passes over everything until these two bytes have passed. */
interface Find {
  skip: number
  find: Buffer
  decide: () => Next
}

type Step = Look | Find

const pngSignatureBytes = 8
const pngChecksumBytes = 4

const followPng = (): Step => {
  let hasPixels = false
  const chunk = (skip: number): Step => ({
    skip,
    count: 8,
    decide: (bytes, at) => {
      const sizeBytes = bytes.readUInt32BE(at)
      const type = bytes.toString('latin1', at + 4, at + 8)
      hasPixels ||= type === 'IDAT'
      if (type !== 'IEND') return chunk(sizeBytes + pngChecksumBytes)
      return {
        skip: sizeBytes,
        count: pngChecksumBytes,
        decide: () => (hasPixels ? 'complete' : 'broken'),
      }
    },
  })
  return chunk(pngSignatureBytes)
}

const startOfScan = 0xda
const endOfJpeg = Buffer.of(0xff, 0xd9)
/** Markers without a segment behind them. */
const isAlone = (marker: number) => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)

/** A segment may hold a thumbnail with an end of its own, so segments are passed over by their length. */
const followJpeg = (): Step => {
  const segmentOf = (marker: number): Step => ({
    skip: 0,
    count: 2,
    decide: (bytes, at) => {
      const lengthBytes = bytes.readUInt16BE(at)
      if (lengthBytes < 2) return 'broken'
      const skip = lengthBytes - 2
      // Within a scan every 0xff of the data is followed by a zero, so that the end cannot be mistaken.
      return marker === startOfScan ? { skip, find: endOfJpeg, decide: complete } : marked(skip)
    },
  })
  const markerByte: Step = {
    skip: 0,
    count: 1,
    decide: (bytes, at) => {
      const marker = bytes.readUInt8(at)
      // Any number of 0xff may stand before a marker.
      if (marker === 0xff) return markerByte
      if (marker === 0x00 || isAlone(marker)) return marked(0)
      return marker === endOfJpeg[1] ? 'broken' : segmentOf(marker)
    },
  }
  const marked = (skip: number): Step => ({
    skip,
    count: 1,
    decide: (bytes, at) => (bytes.readUInt8(at) === 0xff ? markerByte : marked(0)),
  })
  return marked(2)
}

const colourTableBytes = (flags: number) => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 0x07) + 1))

const followGif = (): Step => {
  let images = 0
  const subBlocks = (skip: number, isImage: boolean): Step => ({
    skip,
    count: 1,
    decide: (bytes, at) => {
      const sizeBytes = bytes.readUInt8(at)
      if (sizeBytes > 0) return subBlocks(sizeBytes, isImage)
      if (isImage) images += 1
      return block(0)
    },
  })
  const imageDescriptor: Step = {
    skip: 0,
    count: 9,
    // One byte, the size of a code, stands before the data.
    decide: (bytes, at) => subBlocks(colourTableBytes(bytes.readUInt8(at + 8)) + 1, true),
  }
  const block = (skip: number): Step => ({
    skip,
    count: 1,
    decide: (bytes, at) => {
      const kind = bytes.readUInt8(at)
      if (kind === 0x21) return subBlocks(1, false)
      if (kind === 0x2c) return imageDescriptor
      // Browsers take anything else for the end, as long as there was an image before it.
      return images > 0 ? 'complete' : 'broken'
    },
  })
  return { skip: 10, count: 3, decide: (bytes, at) => block(colourTableBytes(bytes.readUInt8(at))) }
}

const skipAll = (sizeBytes: number): Next =>
  sizeBytes <= 0 ? 'broken' : { skip: sizeBytes - 1, count: 1, decide: complete }

const followWebp = (): Step => {
  /** How much of the file follows by its own account; unknown where it does not say. */
  let leftBytes: number | undefined
  const chunk = (skip: number): Step => ({
    skip,
    count: 8,
    decide: (bytes, at) => {
      const type = bytes.toString('latin1', at, at + 4)
      const sizeBytes = bytes.readUInt32LE(at + 4)
      if (leftBytes !== undefined) leftBytes -= 8
      if (['VP8 ', 'VP8L', 'ANMF'].includes(type)) {
        return sizeBytes === 0 ? 'broken' : skipAll(leftBytes ?? sizeBytes)
      }
      const paddedBytes = sizeBytes + (sizeBytes % 2)
      if (leftBytes !== undefined) leftBytes -= paddedBytes
      return leftBytes !== undefined && leftBytes < 8 ? 'broken' : chunk(paddedBytes)
    },
  })
  return {
    skip: 4,
    count: 4,
    decide: (bytes, at) => {
      const sizeBytes = bytes.readUInt32LE(at)
      // Programs that write to a pipe cannot fill in the size of the whole, and leave it at zero.
      if (sizeBytes > 0) leftBytes = sizeBytes - 4
      return leftBytes !== undefined && leftBytes < 8 ? 'broken' : chunk(4)
    },
  }
}

const followers: Record<string, () => Step> = {
  'image/png': followPng,
  'image/jpeg': followJpeg,
  'image/gif': followGif,
  'image/webp': followWebp,
}

const nothing = Buffer.alloc(0)

/** Several times as many as an image of 20 MB has. It bounds what one made of nothing but tiny parts costs. */
const stepsMax = 400_000

/** Takes steps through bytes that come in chunks, cut anywhere. */
const createWalk = (first: Step) => {
  let next: Next = first
  let toSkip = first.skip
  /** The first part of what a step looks at, where a chunk ended in it. */
  let held: Buffer = nothing

  let steps = 0

  const goTo = (following: Next) => {
    steps += 1
    next = steps > stepsMax ? 'broken' : following
    held = nothing
    if (typeof next === 'object') toSkip = next.skip
  }

  /** Answers where the step ends in the chunk; its length where it does not. */
  const find = ({ find: wanted, decide }: Find, chunk: Buffer, at: number): number => {
    const isSplit = held[0] === wanted[0] && chunk[at] === wanted[1]
    const found = isSplit ? at : chunk.indexOf(wanted, at)
    if (found === -1) {
      held = Buffer.from(chunk.subarray(-1))
      return chunk.length
    }
    goTo(decide())
    return found + (isSplit ? 1 : wanted.length)
  }

  const look = ({ count, decide }: Look, chunk: Buffer, at: number): number => {
    const end = at + count - held.length
    if (held.length === 0 && end <= chunk.length) {
      goTo(decide(chunk, at))
      return end
    }
    held = Buffer.concat([held, chunk.subarray(at, end)])
    if (held.length === count) goTo(decide(held, 0))
    return Math.min(end, chunk.length)
  }

  return {
    take: (chunk: Buffer): void => {
      let at = 0
      while (typeof next === 'object' && at < chunk.length) {
        const skipped = Math.min(toSkip, chunk.length - at)
        toSkip -= skipped
        at += skipped
        if (at < chunk.length) at = 'find' in next ? find(next, chunk, at) : look(next, chunk, at)
      }
    },
    isComplete: () => next === 'complete',
    isOver: () => typeof next !== 'object',
  }
}

export const createImageScan = (): ImageScan => {
  let head: Buffer = nothing
  let walk: ReturnType<typeof createWalk> | undefined
  const contentType = () => imageTypeOf(head)
  return {
    take: (chunk) => {
      if (head.length >= headBytes) {
        walk?.take(chunk)
        return
      }
      const begun = Buffer.concat([head, chunk])
      head = Buffer.from(begun.subarray(0, headBytes))
      if (head.length < headBytes) return
      const follow = followers[contentType() ?? '']
      if (follow !== undefined) walk = createWalk(follow())
      walk?.take(begun)
    },
    contentType,
    isComplete: () => walk?.isComplete() ?? false,
    isOver: () => (walk === undefined ? head.length >= headBytes : walk.isOver()),
  }
}
