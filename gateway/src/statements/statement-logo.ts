import { readFileSync, statSync } from 'node:fs'

const sizeBytesMax = 200_000

const startsWith = (bytes: Buffer, ...start: number[]) =>
  bytes.subarray(0, start.length).equals(Buffer.from(start))

const isSvg = (bytes: Buffer) =>
  /^\uFEFF?\s*(<\?xml[^>]*>\s*)?((<!--[^]*?-->|<!DOCTYPE[^>]*>)\s*)*<svg[\s>]/i.test(bytes.toString('utf8'))

const findType = (bytes: Buffer): string | undefined => {
  if (startsWith(bytes, 0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a)) return 'image/png'
  if (startsWith(bytes, 0xff, 0xd8, 0xff)) return 'image/jpeg'
  return isSvg(bytes) ? 'image/svg+xml' : undefined
}

/**
 * Reads an image as a data URL. Statements show it in an `img` element, where an SVG runs no scripts and loads nothing.
 * Throws an error that says what is wrong with the file.
 */
export const readLogo = (path: string): string => {
  const { size } = statSync(path)
  if (size > sizeBytesMax) {
    throw new Error(
      `must be a file of at most ${sizeBytesMax / 1000} kB, ${path} has ${Math.ceil(size / 1000)} kB`,
    )
  }
  const bytes = readFileSync(path)
  const type = findType(bytes)
  if (type === undefined) throw new Error(`must be the path of a PNG, JPEG or SVG file, got ${path}`)
  return `data:${type};base64,${bytes.toString('base64')}`
}
