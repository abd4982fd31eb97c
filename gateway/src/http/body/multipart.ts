/**
 * Reads a form without holding it in memory: fields are short texts, and files are spooled to disk while they arrive,
 * with their size and hash computed on the way. Everything is bounded, and a stalled sender is disconnected.
 */
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { unlink } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { Transform, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import { Busboy, type BusboyFileStream } from '@fastify/busboy'
import { ApiError } from '@kinora/contract/errors'

import type { Ticket } from '../../admission/admission.ts'
import { newSpoolPath } from '../../platform/streams/spool-path.ts'
import { fieldsOf, isBlank, type Fields, type ReceivedFile } from './fields.ts'
import type { BodyReading } from './json-body.ts'
import { receiveBody } from './receive-body.ts'
import type { UploadSpool } from './upload-spool.ts'

export interface FormLimits {
  /** A larger file is truncated and marked as such, unless `refusedFile` is set. */
  fileBytesMax: number
  /** Set if a file that is too large ends the request; the name of that file's part. */
  refusedFile?: string | undefined
  /** The limit of one field. */
  fieldBytesMax: number
  /** The limit of all fields together. */
  fieldsBytesMax: number
  /** The parts that may be files. A file under any other name is discarded. */
  fileNames: ReadonlySet<string>
  /** The parts that may be sent only once. */
  singleNames: ReadonlySet<string>
  /** The parts that are lists. One is sent as `name[]` for each item, or as one text. */
  listNames: ReadonlySet<string>
}

export interface ReceivedForm {
  fields: Fields
  /** Deletes the files that are still spooled. */
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

/** The parser replaces bytes that are not UTF-8 with this character, so a text with it was damaged here or earlier. */
const isDamaged = (text: string) => text.includes('\ufffd')

const notUtf8 = (what: string, param?: string) =>
  new ApiError(param === undefined ? 'invalid_request' : 'invalid_parameter', {
    ...(param !== undefined && { param }),
    message: `${what} is not valid UTF-8, or contains the replacement character U+FFFD. Send the form encoded as UTF-8.`,
  })

/** Whether the disk failed, and not the form. */
const isDiskError = (error: unknown) => (error as NodeJS.ErrnoException).syscall !== undefined

const refused = (message: string) => new ApiError('request_too_large', { message })

const spoolFile = async (
  stream: BusboyFileStream,
  filename: string | undefined,
  spool: UploadSpool,
  ticket: Ticket,
): Promise<ReceivedFile> => {
  const path = newSpoolPath(spool.directory)
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
        const diskCheck = spool.charge(ticket, chunk.length)
        if (diskCheck === undefined) pass()
        else diskCheck.then(pass, done)
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

/** Collects the text fields of a form; `name[]` is an item of a list and `name[part]` a member of an object. */
const createFormValues = (listNames: ReadonlySet<string>) => {
  const values = new Map<string, unknown>()
  const repeated = new Set<string>()
  /** Stores the first value. A blank value reads as absent, so it does not count as a second one. */
  const setOnce = (into: Map<string, unknown>, key: string, value: unknown, name: string) => {
    if (isBlank(into.get(key) ?? '')) into.set(key, value)
    else if (!isBlank(value)) repeated.add(name)
  }
  return {
    repeated,
    add: (name: string, value: string) => {
      if (name.endsWith('[]')) {
        const bare = name.slice(0, -2)
        const listName = listNames.has(bare) ? bare : name
        const list = values.get(listName)
        if (Array.isArray(list)) list.push(value)
        else setOnce(values, listName, [value], listName)
        return
      }
      const nested = /^([\w-]+)\[([\w-]+)\]$/.exec(name)
      if (nested === null) {
        setOnce(values, name, value, name)
        return
      }
      const [, outer = '', inner = ''] = nested
      const object = values.get(outer)
      if (object instanceof Map) setOnce(object, inner, value, outer)
      else setOnce(values, outer, new Map([[inner, value]]), outer)
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
    throw new ApiError('invalid_request', {
      message:
        'The form has no boundary. Let your HTTP client set the Content-Type of the form: multipart/form-data; boundary=….',
      cause,
    })
  }
}

export const readForm = async (
  request: IncomingMessage,
  { ticket, ...reading }: BodyReading,
  limits: FormLimits,
  spool: UploadSpool,
): Promise<ReceivedForm> => {
  const { refusedFile, fileBytesMax, fieldsBytesMax, fileNames, listNames } = limits
  const parser = createParser(request, limits)
  const values = createFormValues(listNames)
  const spooling: { name: string; stream: BusboyFileStream; file: Promise<ReceivedFile> }[] = []
  const dropped = new Set<string>()
  const broken = new AbortController()
  const fail = (cause: unknown) =>
    broken.abort(
      cause instanceof ApiError || isDiskError(cause)
        ? cause
        : new ApiError('invalid_request', {
            message:
              'The form is incomplete or malformed: its last boundary is missing, or a part has no header.',
            cause,
          }),
    )
  let fieldsBytes = 0

  parser.on('field', (name: string | undefined, value, isNameTruncated, isValueTruncated) => {
    if (name === undefined) return
    if (isNameTruncated || isValueTruncated)
      return fail(refused(`The field '${name.slice(0, 64)}' is too large.`))
    if (isDamaged(name)) return fail(notUtf8('The name of a field'))
    if (isDamaged(value)) return fail(notUtf8(`'${name.slice(0, 64)}'`, name))
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
  parser.on('file', (name: string | undefined, stream, filename: string | undefined) => {
    if (isDamaged(name ?? '')) fail(notUtf8('The name of a field'))
    else if (isDamaged(filename ?? '')) fail(notUtf8(`The file name of '${name?.slice(0, 64)}'`, name))
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
    // A file that was moved is no longer at its path, and a failed one was already deleted.
    await Promise.allSettled(spooling.map(async ({ file }) => unlink((await file).path)))
  }
  try {
    await reading.beforeForm()
    await receiveBody(request, {
      ...reading,
      signal: broken.signal,
      // Only a file can make such a form too large.
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
      // Browsers send an empty file without a name if none was chosen.
      const isNotChosen = received.sizeBytes === 0 && (received.filename ?? '') === ''
      if (!isNotChosen) files.set(name, [...(files.get(name) ?? []), received])
    }
    const fields = fieldsOf('form', values.plain(), files, values.repeated)
    for (const name of limits.singleNames) if (fields.isRepeated(name)) throw givenTwice(name)
    return { fields, discard }
  } catch (error) {
    // Found first, because the end of the spooling fails the form as well.
    const reason: unknown = broken.signal.aborted ? broken.signal.reason : error
    parser.destroy()
    // Without an error, the spooling of an incomplete file, or of one with unread bytes, would never end.
    for (const { stream } of spooling) {
      stream.on('error', () => undefined).destroy(new Error('the form was aborted'))
    }
    await discard()
    throw reason
  }
}
