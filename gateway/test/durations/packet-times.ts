/** Changes the timestamps of the packets in Ogg and MP4 files. */
export const placesOf = (bytes: Buffer, name: string | Buffer): number[] => {
  const places: number[] = []
  for (let at = bytes.indexOf(name); at !== -1; at = bytes.indexOf(name, at + 1)) places.push(at)
  return places
}

const crcTable = Array.from({ length: 256 }, (_, index) => {
  let crc = index << 24
  for (let bit = 0; bit < 8; bit += 1) crc = (crc << 1) ^ (crc < 0 ? 0x04c11db7 : 0)
  return crc >>> 0
})

/** Passes the start of each page of an Ogg file to `change`, and makes the checksums valid again. */
export const changeOggPages = (bytes: Buffer, change: (at: number, index: number) => void): Buffer => {
  const starts = placesOf(bytes, 'OggS')
  for (const [index, at] of starts.entries()) {
    const end = starts[index + 1] ?? bytes.length
    if (at + 27 > bytes.length) continue
    change(at, index)
    bytes.writeUInt32LE(0, at + 22)
    let crc = 0
    for (let each = at; each < end; each += 1)
      crc = ((crc << 8) ^ (crcTable[(crc >>> 24) ^ (bytes[each] ?? 0)] ?? 0)) >>> 0
    bytes.writeUInt32LE(crc, at + 22)
  }
  return bytes
}

/**
 * Adds a `ctts` table to an MP4 file that ends with its index. Packets are presented by these offsets later than they are
 * decoded; the last one is for all further packets.
 */
export const delayPackets = (bytes: Buffer, offsets: number[]): Buffer => {
  const times = bytes.indexOf('stts') - 4
  const sizes = bytes.indexOf('stsz')
  if (times < 0 || sizes === -1 || sizes + 16 > bytes.length) return bytes
  const packets = bytes.readUInt32BE(sizes + 12)
  const table = Buffer.alloc(16 + 8 * offsets.length)
  table.writeUInt32BE(table.length, 0)
  table.write('ctts', 4)
  table.writeUInt32BE(offsets.length, 12)
  for (const [index, offset] of offsets.entries()) {
    table.writeUInt32BE(index === offsets.length - 1 ? packets : 1, 16 + 8 * index)
    table.writeUInt32BE(offset, 20 + 8 * index)
  }
  for (const name of ['moov', 'trak', 'mdia', 'minf', 'stbl']) {
    const at = bytes.indexOf(name) - 4
    if (at >= 0) bytes.writeUInt32BE((bytes.readUInt32BE(at) + table.length) >>> 0, at)
  }
  return Buffer.concat([bytes.subarray(0, times), table, bytes.subarray(times)])
}

/** Presents all packets, also those outside the edit list. */
export const removeEditList = (bytes: Buffer): Buffer => {
  for (const at of placesOf(bytes, 'edts')) bytes.write('free', at)
  return bytes
}
