/**
 * Reads a form without holding it: fields are short text, files are spooled to disk as they arrive with
 * their size and hash taken on the way. Everything has a cap, and a sender that stalls is cut off.
 */
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { unlink } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { Transform, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import { Busboy, type BusboyFileStream } from '@fastify/busboy'
import { ApiError } from '@kinora/contract/errors'

import type { Ticket } from '../../admission/admission.ts'
import { fieldsOf, isBlank, type Fields, type ReceivedFile } from './fields.ts'
import type { BodyReading } from './json-body.ts'
import { receiveBody } from './receive-body.ts'
import type { Spool } from './spool.ts'

export interface FormLimits {
  /** A file larger than this is kept only in part and marked so, unless it is refused. */
  fileBytesMax: number
  /** Where a file that is too large ends the request, the name it has. */
  refusedFile?: string | undefined
  /** One field. */
  fieldBytesMax: number
  /** All fields together. */
  fieldsBytesMax: number
  /** The parts that may be files. A file under any other name is read and dropped. */
  fileNames: ReadonlySet<string>
  /** The parts that may come once only. */
  singleNames: ReadonlySet<string>
}

export interface ReceivedForm {
  fields: Fields
  /** Removes what is still spooled. */
  discard: () => Promise<void>
}

const fieldsMax = 100
const filesMax = 10

const tooLarge = (sizeBytesMax: number) =>
  new ApiError('request_too_large', {
    message: `The form is larger than ${Math.floor(sizeBytesMax / 1_048_576)} MiB.`,
  })

const fileTooLarge = (fileBytesMax: number, name: string) =>
  new ApiError('file_too_large', {
    param: name,
    message: `'${name.slice(0, 64)}' is larger than ${Math.floor(fileBytesMax / 1_048_576)} MB.`,
  })

const givenTwice = (param: string) =>
  new ApiError('invalid_parameter', { param, message: `'${param}' was given more than once. Send it once.` })

const refused = (message: string) => new ApiError('request_too_large', { message })

const spoolFile = async (
  stream: BusboyFileStream,
  filename: string | undefined,
  spool: Spool,
  ticket: Ticket,
): Promise<ReceivedFile> => {
  const path = join(spool.directory, randomUUID())
  const hash = createHash('sha256')
  let sizeBytes = 0
  const measure = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const pass = () => {
        hash.update(chunk)
        sizeBytes += chunk.length
        done(null, chunk)
      }
      try {
        const looking = spool.charge(ticket, chunk.length)
        if (looking === undefined) pass()
        else looking.then(pass, done)
      } catch (error) {
        done(error as Error)
      }
    },
  })
  try {
    await pipeline(stream as Readable, measure, createWriteStream(path, { mode: 0o600 }))
  } catch (error) {
    await unlink(path).catch(() => undefined)
    throw error
  }
  return { path, sizeBytes, sha256: hash.digest('hex'), filename, isTruncated: stream.truncated }
}

/** The text fields of a form; `name[]` is a list and `name[part]` a member of an object. */
const createFormValues = () => {
  const values = new Map<string, unknown>()
  const repeated = new Set<string>()
  /** Keeps the first value. A blank one reads as absent, so it is no second value either. */
  const keep = (into: Map<string, unknown>, key: string, value: unknown, name: string) => {
    if (isBlank(into.get(key) ?? '')) into.set(key, value)
    else if (!isBlank(value)) repeated.add(name)
  }
  return {
    repeated,
    add: (name: string, value: string) => {
      if (name.endsWith('[]')) {
        const list = values.get(name)
        if (Array.isArray(list)) list.push(value)
        else values.set(name, [value])
        return
      }
      const nested = /^([\w-]+)\[([\w-]+)\]$/.exec(name)
      if (nested === null) {
        keep(values, name, value, name)
        return
      }
      const [, outer = '', inner = ''] = nested
      const object = values.get(outer)
      if (object instanceof Map) keep(object, inner, value, outer)
      else keep(values, outer, new Map([[inner, value]]), outer)
    },
    plain: () =>
      new Map(
        [...values].map(([name, value]) => [name, value instanceof Map ? Object.fromEntries(value) : value]),
      ),
  }
}

const createParser = (request: IncomingMessage, { fileBytesMax, fieldBytesMax }: FormLimits) => {
  try {
    return new Busboy({
      headers: request.headers as { 'content-type': string },
      limits: {
        fileSize: fileBytesMax,
        fieldSize: fieldBytesMax,
        fields: fieldsMax,
        files: filesMax,
        parts: fieldsMax + filesMax,
      },
    })
  } catch (cause) {
    throw new ApiError('invalid_request', { message: 'The form could not be read.', cause })
  }
}

export const readForm = async (
  request: IncomingMessage,
  { ticket, ...reading }: BodyReading,
  limits: FormLimits,
  spool: Spool,
): Promise<ReceivedForm> => {
  const { refusedFile, fileBytesMax, fieldsBytesMax, fileNames } = limits
  const parser = createParser(request, limits)
  const values = createFormValues()
  const spooling: { name: string; stream: BusboyFileStream; file: Promise<ReceivedFile> }[] = []
  const dropped = new Set<string>()
  const broken = new AbortController()
  const fail = (cause: unknown) =>
    broken.abort(
      cause instanceof ApiError
        ? cause
        : new ApiError('invalid_request', { message: 'The form could not be read.', cause }),
    )
  let fieldsBytes = 0

  parser.on('field', (name: string | undefined, value, isNameTruncated, isValueTruncated) => {
    // A part without a name is nobody's field.
    if (name === undefined) return
    if (isNameTruncated || isValueTruncated)
      return fail(refused(`The field '${name.slice(0, 64)}' is too large.`))
    const sizeBytes = name.length + Buffer.byteLength(value)
    fieldsBytes += sizeBytes
    if (fieldsBytes > fieldsBytesMax) return fail(refused('The fields of the form are too large.'))
    try {
      ticket.take('bodyBytes', sizeBytes)
      values.add(name, value)
    } catch (error) {
      fail(error)
    }
  })
  parser.on('file', (name: string | undefined, stream, filename) => {
    if (name === undefined || !fileNames.has(name)) {
      if (name !== undefined) dropped.add(name)
      stream.resume()
      return
    }
    const file = spoolFile(stream, filename, spool, ticket)
    file.catch(fail)
    spooling.push({ name, stream, file })
    if (refusedFile !== undefined) stream.on('limit', () => fail(fileTooLarge(fileBytesMax, name)))
  })
  const tooMany = () => fail(refused('The form has too many parts.'))
  parser.on('partsLimit', tooMany).on('filesLimit', tooMany).on('fieldsLimit', tooMany)
  parser.on('error', fail)
  const finished = once(parser, 'finish', { signal: broken.signal })
  finished.catch(() => undefined)

  const discard = async () => {
    // A file that was adopted in the meantime is no longer at its path, and one that failed never was.
    await Promise.allSettled(spooling.map(async ({ file }) => unlink((await file).path)))
  }
  try {
    await reading.beforeForm()
    await receiveBody(request, {
      ...reading,
      signal: broken.signal,
      // The file is what makes such a form too large.
      tooLarge: () =>
        refusedFile === undefined ? tooLarge(reading.sizeBytesMax) : fileTooLarge(fileBytesMax, refusedFile),
      take: async (chunk) => {
        if (!parser.write(chunk)) await once(parser, 'drain', { signal: broken.signal })
      },
    })
    parser.end()
    await finished
    const files = new Map<string, ReceivedFile[]>([...dropped].map((name) => [name, []]))
    for (const { name, file } of spooling) {
      const received = await file
      // Browsers send this for a file that was not chosen.
      const isNothing = received.sizeBytes === 0 && (received.filename ?? '') === ''
      if (!isNothing) files.set(name, [...(files.get(name) ?? []), received])
    }
    const fields = fieldsOf('form', values.plain(), files, values.repeated)
    for (const name of limits.singleNames) if (fields.isRepeated(name)) throw givenTwice(name)
    return { fields, discard }
  } catch (error) {
    parser.destroy()
    // A file that was cut off in its middle would wait for its end for ever, and without an error so would one
    // whose last bytes are still to be read.
    for (const { stream } of spooling) {
      stream.on('error', () => undefined).destroy(new Error('the form was given up'))
    }
    await discard()
    throw broken.signal.aborted ? broken.signal.reason : error
  }
}
