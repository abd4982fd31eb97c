import { createWriteStream } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import path from 'node:path'
import { Transform, type Readable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'

import { Busboy, type BusboyInstance } from '@fastify/busboy'

import { charactersMax, InvalidJob, parseJobRequest, type JobFiles, type JobRequest } from './job.ts'

const megabyte = 1024 * 1024

interface FileKind {
  countMax: number
  limitBytes: number
}

const fileKinds = {
  reference: {
    countMax: 3,
    limitBytes: 20 * megabyte,
  },
  character: {
    countMax: charactersMax,
    limitBytes: 20 * megabyte,
  },
  source: {
    countMax: 1,
    limitBytes: 1024 * megabyte,
  },
  soundtrack: {
    countMax: 1,
    limitBytes: 64 * megabyte,
  },
} satisfies Record<string, FileKind>

type FileKindName = keyof typeof fileKinds

const jobFieldLimitBytes = 256 * 1024
const bodyLimitBytes = Object.values(fileKinds).reduce(
  (sum, kind) => sum + kind.countMax * kind.limitBytes,
  4 * megabyte,
)

export interface JobUpload {
  request: JobRequest
  files: JobFiles
}

/** Reads the multipart body of a new job and writes its files to `folder` as they arrive. */
export async function receiveJob(message: IncomingMessage, folder: string): Promise<JobUpload> {
  const contentType = message.headers['content-type'] ?? ''
  if (!/^multipart\/form-data\s*;/iu.test(contentType)) {
    throw new InvalidJob('The body must be multipart/form-data.')
  }
  const parser = openParser(contentType)
  const writes: Promise<void>[] = []
  const received: Record<FileKindName, string[]> = {
    reference: [],
    character: [],
    source: [],
    soundtrack: [],
  }
  // When the client disconnects, the parser does not end the current file. This signal does.
  const aborted = new AbortController()
  let jobText: string | undefined
  let firstError: InvalidJob | undefined
  let receivedBytes = 0

  // The body is read to its end even after an error, because a client that is still sending would not read the response.
  const reject = (text: string) => {
    firstError ??= new InvalidJob(text)
  }

  parser.on('field', (name, value, _nameTruncated, valueTruncated) => {
    if (name !== 'job') return
    if (valueTruncated) reject('The field "job" is too long.')
    jobText = value
  })
  parser.on('file', (name, stream) => {
    const kind = isFileKind(name) ? name : undefined
    if (kind === undefined || received[kind].length >= fileKinds[kind].countMax) {
      reject(
        kind === undefined
          ? 'The form may have only the fields "job", "reference", "character", "source" and "soundtrack".'
          : `The form may have at most ${fileKinds[kind].countMax} of "${kind}".`,
      )
      stream.resume()
      return
    }
    const { limitBytes } = fileKinds[kind]
    const tooLarge = `A file of "${kind}" is larger than ${limitBytes / megabyte} MiB.`
    const fileName = `${kind}-${received[kind].length}`
    received[kind].push(fileName)
    writes.push(
      pipeline(
        stream,
        byteLimit(limitBytes, () => reject(tooLarge)),
        createWriteStream(path.join(folder, fileName)),
        { signal: aborted.signal },
      ),
    )
  })
  message.on('data', (chunk: Buffer) => {
    receivedBytes += chunk.length
    if (receivedBytes > bodyLimitBytes) message.destroy(new InvalidJob('The body is too large.'))
  })

  try {
    await pipeline(message, parser)
  } catch (error) {
    aborted.abort()
    await Promise.allSettled(writes)
    if (message.complete || error instanceof InvalidJob)
      throw new InvalidJob('The multipart body is malformed.')
    throw error
  }
  await Promise.all(writes)
  if (firstError !== undefined) throw firstError
  if (jobText === undefined) throw new InvalidJob('The field "job" is missing.')
  const request = parseJobRequest(jobText)
  if ((request.characters ?? []).length !== received.character.length) {
    throw new InvalidJob('"characters" must have one name for each file of "character".')
  }
  const { reference: references, character: characters, source, soundtrack } = received
  return { request, files: { references, characters, source: source[0], soundtrack: soundtrack[0] } }
}

function isFileKind(name: string): name is FileKindName {
  return Object.hasOwn(fileKinds, name)
}

/** Passes bytes up to the limit and discards the rest, so that the body is still read to its end. */
export function byteLimit(limitBytes: number, onExceeded: () => void): Transform {
  let passedBytes = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      passedBytes += chunk.length
      if (passedBytes <= limitBytes) return done(null, chunk)
      onExceeded()
      done()
    },
  })
}

function openParser(contentType: string): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      // Some clients send the JSON with a file name; it is still a field.
      isPartAFile: (name) => name !== 'job',
      limits: {
        fieldSize: jobFieldLimitBytes,
        fields: 20,
        files: 20,
        parts: 40,
      },
    })
  } catch {
    throw new InvalidJob('The body has no usable multipart boundary.')
  }
}

/** Reads an unused body to its end, so that the client reads the response. */
export async function drain(message: Readable): Promise<void> {
  message.resume()
  await finished(message, { writable: false }).catch(() => {})
}
