import { randomUUID } from 'node:crypto'

import { cellDigits } from './cell.ts'

/**
 * A UUID of version 7. Its first 48 bits are the time in milliseconds, so ids are sortable and reveal their day; the cell
 * follows. With given entropy the result is deterministic.
 */
export const uuidV7 = (atMs: number = Date.now(), entropy?: Buffer): string => {
  const time = atMs.toString(16).padStart(12, '0')
  // Node draws the random bits of many UUIDs at once, so this is cheaper than random bytes for each.
  const random = entropy === undefined ? randomUUID() : uuidV4Of(entropy)
  return `${time.slice(0, 8)}-${time.slice(8)}-7${cellDigits}${random.slice(18)}`
}

const uuidV4Of = (entropy: Buffer): string => {
  const bytes = Buffer.from(entropy.subarray(0, 16))
  bytes.writeUInt8((bytes.readUInt8(8) & 0x3f) | 0x80, 8)
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** The same UUID with another time. */
export const uuidV7At = (uuid: string, atMs: number): string => {
  const time = Math.floor(atMs).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}${uuid.slice(13)}`
}

const shape = new RegExp(`^([0-9a-f]{8})-([0-9a-f]{4})-7${cellDigits}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

/** The time of a UUID of version 7 that this cell made; undefined for any other text. */
export const timeOfUuidV7 = (uuid: string): number | undefined => {
  const match = shape.exec(uuid)
  return match ? parseInt(`${match[1]}${match[2]}`, 16) : undefined
}
