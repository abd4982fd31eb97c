/**
 * Reads a form without holding it: fields are short text, files are spooled to disk as they arrive with
 * their size and hash taken on the way. Everything has a cap, and a sender that stalls is cut off.
 */
import { createHash, randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { unlink } from 'node:fs/promises'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { Transform, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

import { Busboy, type BusboyFileStream } from '@fastify/busboy'
import { ApiError } from '@kinora/contract/errors'

import { fieldsOf, type Fields, type ReceivedFile } from './fields.ts'

export interface FormLimits {
  /** All of the form together. */
  sizeBytesMax: number
  /** A file larger than this is kept only in part and marked so, unless it is refused. */
  fileBytesMax: number
  /** Where a file that is too large ends the request, the name it has. */
  refusedFile?: string | undefined
  fieldBytesMax: number
  spoolDirectory: string
}

export interface ReceivedForm {
  fields: Fields
  /** Removes what is still spooled. */
  discard: () => Promise<void>
}

// A slow but honest phone uploads faster than this; a slow attack does not.
const bytesPerSecondMin = 32 * 1024
const graceMs = 10_000
const totalMsMax = 900_000

const tooLarge = (sizeBytesMax: number) =>
  new ApiError('request_too_large', {
    message: `The form is larger than ${Math.floor(sizeBytesMax / 1_048_576)} MiB.`,
  })

const fileTooLarge = (fileBytesMax: number, name: string) =>
  new ApiError('file_too_large', {
    param: name,
    message: `'${name.slice(0, 64)}' is larger than ${Math.floor(fileBytesMax / 1_048_576)} MB.`,
  })

const watchPace = (request: IncomingMessage, sizeBytesMax: number, giveUp: (error: ApiError) => void) => {
  const startedMs = Date.now()
  let receivedBytes = 0
  const count = (chunk: Buffer) => {
    receivedBytes += chunk.length
    if (receivedBytes > sizeBytesMax) giveUp(tooLarge(sizeBytesMax))
  }
  request.on('data', count)
  const timer = setInterval(() => {
    const elapsedMs = Date.now() - startedMs
    const isTooSlow = elapsedMs > graceMs && (receivedBytes * 1000) / elapsedMs < bytesPerSecondMin
    if (isTooSlow || elapsedMs > totalMsMax) {
      giveUp(new ApiError('invalid_request', { message: 'The upload was too slow.' }))
    }
  }, 1_000)
  return () => {
    clearInterval(timer)
    request.off('data', count)
  }
}

const spool = async (
  stream: BusboyFileStream,
  filename: string | undefined,
  spoolDirectory: string,
): Promise<ReceivedFile> => {
  const path = join(spoolDirectory, randomUUID())
  const hash = createHash('sha256')
  let sizeBytes = 0
  const measure = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      hash.update(chunk)
      sizeBytes += chunk.length
      done(null, chunk)
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

export const readForm = async (request: IncomingMessage, limits: FormLimits): Promise<ReceivedForm> => {
  const { refusedFile, fileBytesMax } = limits
  if (Number(request.headers['content-length'] ?? 0) > limits.sizeBytesMax) {
    // What makes such a form large is its file.
    throw refusedFile === undefined ? tooLarge(limits.sizeBytesMax) : fileTooLarge(fileBytesMax, refusedFile)
  }
  const values = new Map<string, unknown>()
  const spooling: { name: string; stream: BusboyFileStream; file: Promise<ReceivedFile> }[] = []

  const addField = (name: string, value: string) => {
    if (name.endsWith('[]')) {
      const list = values.get(name)
      values.set(name, Array.isArray(list) ? [...(list as string[]), value] : [value])
      return
    }
    const nested = /^([\w-]+)\[([\w-]+)\]$/.exec(name)
    if (nested === null) {
      if (!values.has(name)) values.set(name, value)
      return
    }
    const [, outer = '', inner = ''] = nested
    const object = values.get(outer)
    if (object instanceof Map) object.set(inner, value)
    else if (object === undefined) values.set(outer, new Map([[inner, value]]))
  }

  const discard = async () => {
    // A file that was adopted in the meantime is no longer at its path, and one that failed never was.
    await Promise.allSettled(spooling.map(async ({ file }) => unlink((await file).path)))
  }
  const giveUp = async () => {
    request.unpipe()
    request.resume()
    // A file that was cut off in its middle would wait for its end for ever, and without an error so would one
    // whose last bytes are still to be read.
    for (const { stream } of spooling) {
      stream.on('error', () => undefined).destroy(new Error('the form was given up'))
    }
    await discard()
  }

  try {
    await new Promise<void>((resolve, reject) => {
      const unreadable = (cause: unknown) =>
        reject(
          cause instanceof ApiError
            ? cause
            : new ApiError('invalid_request', { message: 'The form could not be read.', cause }),
        )
      let parser: InstanceType<typeof Busboy>
      try {
        parser = new Busboy({
          headers: request.headers as { 'content-type': string },
          limits: {
            fileSize: fileBytesMax,
            fieldSize: limits.fieldBytesMax,
            fields: 100,
            files: 10,
            parts: 110,
          },
        })
      } catch (error) {
        return unreadable(error)
      }
      const stopWatching = watchPace(request, limits.sizeBytesMax, (error) => {
        request.unpipe(parser)
        parser.destroy()
        unreadable(error)
      })
      const tooMany = () =>
        unreadable(new ApiError('request_too_large', { message: 'The form has too many parts.' }))
      parser.on('field', (name: string | undefined, value, isNameTruncated, isValueTruncated) => {
        // A part without a name is nobody's field.
        if (name === undefined) return
        if (isNameTruncated || isValueTruncated) {
          unreadable(
            new ApiError('request_too_large', { message: `The field '${name.slice(0, 64)}' is too large.` }),
          )
        } else addField(name, value)
      })
      parser.on('file', (name: string | undefined, stream, filename) => {
        if (name === undefined) {
          stream.resume()
          return
        }
        const file = spool(stream, filename, limits.spoolDirectory)
        file.catch(unreadable)
        spooling.push({ name, stream, file })
        if (refusedFile !== undefined) {
          stream.on('limit', () => unreadable(fileTooLarge(fileBytesMax, name)))
        }
      })
      parser.on('partsLimit', tooMany).on('filesLimit', tooMany).on('fieldsLimit', tooMany)
      parser.on('error', unreadable)
      parser.on('finish', () => resolve())
      const cutOff = () => unreadable(new ApiError('invalid_request', { message: 'The upload was cut off.' }))
      request.on('aborted', cutOff)
      request.on('close', stopWatching)
      // The sender may have gone while its key was looked up; then nothing will ever be heard of the form.
      if (request.destroyed) {
        stopWatching()
        return cutOff()
      }
      request.pipe(parser)
    })
    const files = new Map<string, ReceivedFile[]>()
    for (const { name, file } of spooling) {
      const received = await file
      // What a browser sends for a file nobody chose.
      const isNothing = received.sizeBytes === 0 && (received.filename ?? '') === ''
      if (!isNothing) files.set(name, [...(files.get(name) ?? []), received])
    }
    const plain = new Map(
      [...values].map(([name, value]) => [name, value instanceof Map ? Object.fromEntries(value) : value]),
    )
    return { fields: fieldsOf('form', plain, files), discard }
  } catch (error) {
    await giveUp()
    throw error
  }
}
