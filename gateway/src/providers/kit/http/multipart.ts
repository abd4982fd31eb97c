import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'

export interface FieldPart {
  name: string
  value: string
}

export interface FilePart {
  name: string
  filename: string
  contentType: string
  sizeBytes: number | undefined
  open: () => Promise<Readable>
}

/** A streamed request body. `lengthBytes` is undefined if the size of a file is unknown. */
export interface StreamedBody {
  contentType: string
  lengthBytes: number | undefined
  stream: Readable
}

/** A file of ours could not be read in full, so the request was never complete. */
export class UnreadablePart extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'UnreadablePart'
  }
}

export function jsonBody(value: unknown): StreamedBody {
  const bytes = Buffer.from(JSON.stringify(value))
  return {
    contentType: 'application/json',
    lengthBytes: bytes.length,
    stream: Readable.from([bytes], { objectMode: false }),
  }
}

/** Builds a multipart/form-data body. Files are opened one after the other and streamed. */
export function multipart(parts: (FieldPart | FilePart)[]): StreamedBody {
  const boundary = `kinora-${randomUUID()}`
  const chunks = parts.map((part) => ({ part, head: Buffer.from(headOf(part, boundary)) }))
  const end = Buffer.from(`--${boundary}--\r\n`)
  let lengthBytes: number | undefined = end.length
  for (const { part, head } of chunks) {
    const sizeBytes = 'open' in part ? part.sizeBytes : Buffer.byteLength(part.value)
    if (sizeBytes === undefined || lengthBytes === undefined) lengthBytes = undefined
    else lengthBytes += head.length + sizeBytes + 2
  }

  async function* write(): AsyncGenerator<Buffer> {
    for (const { part, head } of chunks) {
      if ('open' in part) {
        yield head
        yield* contentOf(part)
        yield Buffer.from('\r\n')
      } else {
        yield Buffer.concat([head, Buffer.from(part.value), Buffer.from('\r\n')])
      }
    }
    yield end
  }

  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    lengthBytes,
    stream: Readable.from(write(), { objectMode: false, highWaterMark: 64 * 1024 }),
  }
}

/** A file of another size than announced ends the request, because its Content-Length would be wrong. */
export async function* contentOf(
  part: Pick<FilePart, 'name' | 'sizeBytes' | 'open'>,
): AsyncGenerator<Buffer> {
  // Only reads are wrapped: an error at `yield` comes from the connection, not from the file.
  const source = await orUnreadable(part, part.open)
  const chunks = source[Symbol.asyncIterator]()
  let sentBytes = 0
  try {
    for (;;) {
      const step = await orUnreadable(part, () => chunks.next())
      if (step.done === true) break
      const bytes = typeof step.value === 'string' ? Buffer.from(step.value) : (step.value as Buffer)
      sentBytes += bytes.length
      if (part.sizeBytes !== undefined && sentBytes > part.sizeBytes) break
      yield bytes
    }
  } finally {
    source.destroy()
  }
  if (part.sizeBytes !== undefined && sentBytes !== part.sizeBytes) {
    throw new UnreadablePart(`the file for "${part.name}" is not ${part.sizeBytes} bytes long`)
  }
}

async function orUnreadable<Value>(part: Pick<FilePart, 'name'>, read: () => Promise<Value>): Promise<Value> {
  try {
    return await read()
  } catch {
    throw new UnreadablePart(`the file for "${part.name}" could not be read`)
  }
}

function headOf(part: FieldPart | FilePart, boundary: string): string {
  const disposition = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(part.name)}"`
  if (!('open' in part)) return `${disposition}\r\n\r\n`
  const contentType = part.contentType.replaceAll(/[\r\n]/g, '')
  return `${disposition}; filename="${quoted(part.filename)}"\r\nContent-Type: ${contentType}\r\n\r\n`
}

function quoted(name: string): string {
  return name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
}
