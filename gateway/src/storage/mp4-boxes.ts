/** The boxes that an MP4 consists of. */
interface Box {
  type: string
  /** The start of the content, after the header. */
  start: number
  end: number
}

/** Parses the header of the box at `offset`; undefined if the box exceeds `limit`. */
export const headerAt = (header: Buffer, offset: number, limit: number): Box | undefined => {
  if (header.length < 8) return undefined
  const short = header.readUInt32BE(0)
  if (short === 1 && header.length < 16) return undefined
  const size = short === 0 ? limit - offset : short === 1 ? Number(header.readBigUInt64BE(8)) : short
  const headerBytes = short === 1 ? 16 : 8
  if (size < headerBytes || offset + size > limit) return undefined
  return { type: header.toString('latin1', 4, 8), start: offset + headerBytes, end: offset + size }
}

/** The boxes in a buffer; undefined if they do not fill it exactly. */
export const boxesIn = (buffer: Buffer): (Box & { content: Buffer })[] | undefined => {
  const boxes = []
  for (let offset = 0; offset < buffer.length;) {
    const box = headerAt(buffer.subarray(offset, offset + 16), offset, buffer.length)
    if (box === undefined) return undefined
    boxes.push({ ...box, content: buffer.subarray(box.start, box.end) })
    offset = box.end
  }
  return boxes
}

export const child = (content: Buffer | undefined, ...path: string[]): Buffer | undefined =>
  path.reduce<Buffer | undefined>(
    (within, type) => within && boxesIn(within)?.find((box) => box.type === type)?.content,
    content,
  )
