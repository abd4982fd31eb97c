/** Reads the display size of an image from its first bytes; undefined if they do not contain it. */

export interface ImageSize {
  width: number
  height: number
}

/** Enough for the metadata that cameras write before the size. */
export const imageHeadBytes = 65_536

const orientationTag = 0x01_12

/** Whether the EXIF block of a photograph marks it as rotated by 90 degrees. */
const isRotated = (block: Buffer): boolean => {
  if (block.toString('latin1', 0, 6) !== 'Exif\0\0') return false
  const tiff = block.subarray(6)
  const isLittle = tiff.toString('latin1', 0, 2) === 'II'
  const short = (at: number) => (isLittle ? tiff.readUInt16LE(at) : tiff.readUInt16BE(at))
  const directory = isLittle ? tiff.readUInt32LE(4) : tiff.readUInt32BE(4)
  const entries = Array.from({ length: short(directory) }, (_, index) => directory + 2 + index * 12)
  const entry = entries.find((at) => short(at) === orientationTag)
  return entry !== undefined && short(entry + 8) >= 5
}

const sizeOfJpeg = (head: Buffer): ImageSize | undefined => {
  let rotated = false
  for (let at = 2; at + 9 < head.length; at += 2 + head.readUInt16BE(at + 2)) {
    const marker = head.readUInt8(at + 1)
    if (head.readUInt8(at) !== 0xff) return undefined
    if (marker === 0xe1) rotated = isRotated(head.subarray(at + 4, at + 2 + head.readUInt16BE(at + 2)))
    // Frame headers; the three excluded markers of this range are tables.
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker)) {
      const stored = { height: head.readUInt16BE(at + 5), width: head.readUInt16BE(at + 7) }
      return rotated ? { width: stored.height, height: stored.width } : stored
    }
  }
  return undefined
}

const sizeOfWebp = (head: Buffer): ImageSize | undefined => {
  const form = head.toString('latin1', 12, 16)
  if (form === 'VP8X') return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 }
  if (form === 'VP8 ')
    return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff }
  if (form !== 'VP8L') return undefined
  const bits = head.readUInt32LE(21)
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
}

const sizers: Record<string, (head: Buffer) => ImageSize | undefined> = {
  'image/png': (head) => ({ width: head.readUInt32BE(16), height: head.readUInt32BE(20) }),
  'image/gif': (head) => ({ width: head.readUInt16LE(6), height: head.readUInt16LE(8) }),
  'image/jpeg': sizeOfJpeg,
  'image/webp': sizeOfWebp,
}

export const imageSizeOf = (contentType: string, head: Buffer): ImageSize | undefined => {
  try {
    return sizers[contentType]?.(head)
  } catch (error) {
    // The header is truncated. The provider will refuse the image if it cannot use it.
    if (error instanceof RangeError) return undefined
    throw error
  }
}
