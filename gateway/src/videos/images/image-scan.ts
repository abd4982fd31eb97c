/**
 * Detects truncated images by following their structure while the bytes stream through, without decoding. Checksums and
 * pixels are not verified, because decoders differ in what they tolerate.
 */

export interface ImageScan {
  /** Scans the next bytes without retaining them. */
  scan: (chunk: Buffer) => void
  /** By the first bytes; undefined for anything but PNG, JPEG, WebP and GIF. */
  contentType: () => string | undefined
  /** Whether the image is structurally complete. Bytes after its end do not matter. */
  isComplete: () => boolean
  /** Whether further bytes cannot change the result. */
  isDone: () => boolean
}

/** Enough to detect the type, and less than any image has. */
const headBytes = 16

/** The content type by the first bytes. */
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

/** Skips `skip` bytes, then reads `count` bytes, which start at `at` in `bytes`. */
interface Read {
  skip: number
  count: number
  decide: (bytes: Buffer, at: number) => Next
}

/** Skips everything up to and including these two bytes. */
interface Find {
  skip: number
  find: Buffer
  decide: () => Next
}

type Step = Read | Find

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
/** Markers without a segment. */
const isAlone = (marker: number) => marker === 0x01 || (marker >= 0xd0 && marker <= 0xd8)

/** A segment may contain a thumbnail with its own end marker, so segments are skipped by their length. */
const followJpeg = (): Step => {
  const segmentOf = (marker: number): Step => ({
    skip: 0,
    count: 2,
    decide: (bytes, at) => {
      const lengthBytes = bytes.readUInt16BE(at)
      if (lengthBytes < 2) return 'broken'
      const skip = lengthBytes - 2
      // In scan data every 0xff is followed by a zero, so the end marker is unambiguous.
      return marker === startOfScan ? { skip, find: endOfJpeg, decide: complete } : marked(skip)
    },
  })
  const markerByte: Step = {
    skip: 0,
    count: 1,
    decide: (bytes, at) => {
      const marker = bytes.readUInt8(at)
      // A marker may be preceded by any number of 0xff.
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
    // The data is preceded by one byte, the minimum code size.
    decide: (bytes, at) => subBlocks(colourTableBytes(bytes.readUInt8(at + 8)) + 1, true),
  }
  const block = (skip: number): Step => ({
    skip,
    count: 1,
    decide: (bytes, at) => {
      const kind = bytes.readUInt8(at)
      if (kind === 0x21) return subBlocks(1, false)
      if (kind === 0x2c) return imageDescriptor
      // Browsers treat anything else as the end, if there was an image before it.
      return images > 0 ? 'complete' : 'broken'
    },
  })
  return { skip: 10, count: 3, decide: (bytes, at) => block(colourTableBytes(bytes.readUInt8(at))) }
}

const skipAll = (sizeBytes: number): Next =>
  sizeBytes <= 0 ? 'broken' : { skip: sizeBytes - 1, count: 1, decide: complete }

const followWebp = (): Step => {
  /** The remaining bytes according to the header; undefined if the header has no size. */
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
      // Programs that write to a pipe cannot fill in the total size and leave it at zero.
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

/** Several times the steps of a 20 MB image. It bounds the cost of an image made of tiny parts. */
const stepsMax = 400_000

/** Runs the steps over chunks that may be split anywhere. */
const createWalk = (first: Step) => {
  let next: Next = first
  let toSkip = first.skip
  /** The bytes that a step has read so far, if a chunk ended in the middle of it. */
  let partial: Buffer = nothing
  let steps = 0

  const goTo = (following: Next) => {
    steps += 1
    next = steps > stepsMax ? 'broken' : following
    partial = nothing
    if (typeof next === 'object') toSkip = next.skip
  }

  /** Returns where the step ends in the chunk, or the length of the chunk if it does not end there. */
  const find = ({ find: wanted, decide }: Find, chunk: Buffer, at: number): number => {
    const isSplit = partial[0] === wanted[0] && chunk[at] === wanted[1]
    const found = isSplit ? at : chunk.indexOf(wanted, at)
    if (found === -1) {
      partial = Buffer.from(chunk.subarray(-1))
      return chunk.length
    }
    goTo(decide())
    return found + (isSplit ? 1 : wanted.length)
  }

  const read = ({ count, decide }: Read, chunk: Buffer, at: number): number => {
    const end = at + count - partial.length
    if (partial.length === 0 && end <= chunk.length) {
      goTo(decide(chunk, at))
      return end
    }
    partial = Buffer.concat([partial, chunk.subarray(at, end)])
    if (partial.length === count) goTo(decide(partial, 0))
    return Math.min(end, chunk.length)
  }

  return {
    scan: (chunk: Buffer): void => {
      let at = 0
      while (typeof next === 'object' && at < chunk.length) {
        const skipped = Math.min(toSkip, chunk.length - at)
        toSkip -= skipped
        at += skipped
        if (at < chunk.length) at = 'find' in next ? find(next, chunk, at) : read(next, chunk, at)
      }
    },
    isComplete: () => next === 'complete',
    isDone: () => typeof next !== 'object',
  }
}

export const createImageScan = (): ImageScan => {
  let head: Buffer = nothing
  let walk: ReturnType<typeof createWalk> | undefined
  const contentType = () => imageTypeOf(head)
  return {
    scan: (chunk) => {
      if (head.length >= headBytes) {
        walk?.scan(chunk)
        return
      }
      const start = Buffer.concat([head, chunk])
      head = Buffer.from(start.subarray(0, headBytes))
      if (head.length < headBytes) return
      const follow = followers[contentType() ?? '']
      if (follow !== undefined) walk = createWalk(follow())
      walk?.scan(start)
    },
    contentType,
    isComplete: () => walk?.isComplete() ?? false,
    isDone: () => (walk === undefined ? head.length >= headBytes : walk.isDone()),
  }
}
