/** Walks over a tar archive while it arrives, holding no more of it than the piece that came last. */

const blockBytes = 512
const longestNameBytes = 64 * 1024

export class BrokenArchive extends Error {}

export interface TarFile {
  path: string
  bytes: number
  /** To be read before the next file is asked for; what is left over is skipped. */
  content: () => AsyncGenerator<Buffer, void, undefined>
}

const textUpToZero = (bytes: Buffer) => bytes.toString('utf8').split('\0', 1)[0] ?? ''

const numberIn = (field: Buffer): number => {
  // Sizes beyond eight gigabytes are written in binary.
  if ((field[0]! & 0x80) !== 0) return Number(field.readBigUInt64BE(field.length - 8))
  return Number.parseInt(textUpToZero(field).trim() || '0', 8)
}

/** The sum of all bytes, with the sum's own field read as blanks. */
const hasRightSum = (header: Buffer): boolean => {
  const sum = header.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 0x20 : byte), 0)
  return numberIn(header.subarray(148, 156)) === sum
}

/** Lines of `<length> <key>=<value>`, which stand before a file whose header has no room for them. */
const extendedFields = (content: Buffer): Record<string, string> => {
  const fields: Record<string, string> = {}
  for (let at = 0; at < content.length;) {
    const lengthText = content.subarray(at, content.indexOf(' ', at)).toString()
    const length = Number(lengthText)
    if (!(length > 0)) break
    const line = content.subarray(at + lengthText.length + 1, at + length - 1).toString('utf8')
    const equals = line.indexOf('=')
    fields[line.slice(0, equals)] = line.slice(equals + 1)
    at += length
  }
  return fields
}

const pathIn = (header: Buffer): string => {
  const prefix = textUpToZero(header.subarray(345, 500))
  const name = textUpToZero(header.subarray(0, 100))
  return prefix === '' ? name : `${prefix}/${name}`
}

function cursorOver(chunks: AsyncIterable<Buffer>) {
  const iterator = chunks[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)

  /** What is there, at most so much; nothing at the end of the archive. */
  async function take(most: number): Promise<Buffer | undefined> {
    while (rest.length === 0) {
      const next = await iterator.next()
      if (next.done === true) return undefined
      rest = next.value
    }
    const piece = rest.subarray(0, most)
    rest = rest.subarray(piece.length)
    return piece
  }

  async function* stretch(bytes: number): AsyncGenerator<Buffer, void, undefined> {
    for (let left = bytes; left > 0;) {
      const piece = await take(left)
      if (piece === undefined) throw new BrokenArchive('the archive ends in the middle')
      left -= piece.length
      yield piece
    }
  }

  async function whole(bytes: number): Promise<Buffer> {
    const pieces: Buffer[] = []
    for await (const piece of stretch(bytes)) pieces.push(piece)
    return Buffer.concat(pieces)
  }

  return {
    stretch,
    whole,
    close: async () => {
      await iterator.return?.()
    },
    /** The next header, or undefined where the archive ends as it should. */
    async header(): Promise<Buffer | undefined> {
      const first = await take(blockBytes)
      if (first === undefined) return undefined
      const header = Buffer.concat([first, await whole(blockBytes - first.length)])
      if (header.every((byte) => byte === 0)) return undefined
      if (!hasRightSum(header)) throw new BrokenArchive('this is no tar archive')
      return header
    },
  }
}

export async function* readTar(chunks: AsyncIterable<Buffer>): AsyncGenerator<TarFile, void, undefined> {
  const cursor = cursorOver(chunks)
  let given: Record<string, string> = {}
  try {
    for (;;) {
      const header = await cursor.header()
      if (header === undefined) return
      const kind = String.fromCharCode(header[156]!)
      const bytes = Number(given['size'] ?? numberIn(header.subarray(124, 136)))
      if (!Number.isSafeInteger(bytes) || bytes < 0) throw new BrokenArchive('a file in it has no size')
      const padding = (blockBytes - (bytes % blockBytes)) % blockBytes

      if (kind === 'x' || kind === 'L') {
        if (bytes > longestNameBytes) throw new BrokenArchive('a name in it is too long')
        const content = await cursor.whole(bytes)
        given = kind === 'x' ? extendedFields(content) : { path: textUpToZero(content) }
        await cursor.whole(padding)
        continue
      }

      const path = given['path'] ?? pathIn(header)
      given = {}
      let left = bytes
      if (kind === '0' || kind === '\0') {
        const stretch = cursor.stretch(bytes)
        yield {
          path,
          bytes,
          async *content() {
            // Not a plain loop over it: leaving that would end the stretch, and its rest could not be skipped.
            for (let next = await stretch.next(); next.done !== true; next = await stretch.next()) {
              left -= next.value.length
              yield next.value
            }
          },
        }
      }
      for await (const skipped of cursor.stretch(left + padding)) void skipped
    }
  } finally {
    await cursor.close()
  }
}
