import { createWriteStream } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { finished, pipeline } from 'node:stream/promises'

import { Busboy, type BusboyInstance } from '@fastify/busboy'

import { InvalidJob, parseJobRequest, type JobRequest } from './job.ts'

const mostReferences = 3
const referenceLimitBytes = 20 * 1024 * 1024
const jobFieldLimitBytes = 256 * 1024
const bodyLimitBytes = mostReferences * referenceLimitBytes + 4 * 1024 * 1024

export interface JobUpload {
  request: JobRequest
  /** Names of the files written to the folder. */
  references: string[]
}

/** Reads the multipart body of a new job and writes its pictures to `folder` as they arrive. */
export async function receiveJob(message: IncomingMessage, folder: string): Promise<JobUpload> {
  const contentType = message.headers['content-type'] ?? ''
  if (!/^multipart\/form-data\s*;/iu.test(contentType)) {
    throw new InvalidJob('The body must be multipart/form-data.')
  }
  const parser = openParser(contentType)
  const writes: Promise<void>[] = []
  const references: string[] = []
  // The parser does not end the file it is in when the client goes away; this does.
  const aborted = new AbortController()
  let jobText: string | undefined
  let complaint: InvalidJob | undefined
  let receivedBytes = 0

  // The rest of the body is read even after a complaint: the answer would not reach a client that is still sending.
  const complain = (text: string) => {
    complaint ??= new InvalidJob(text)
  }

  parser.on('field', (name, value, _nameTruncated, valueTruncated) => {
    if (name !== 'job') return
    if (valueTruncated) complain('The field "job" is too long.')
    jobText = value
  })
  parser.on('file', (name, stream) => {
    if (name === 'reference' && references.length < mostReferences) {
      const fileName = `reference-${references.length}`
      references.push(fileName)
      writes.push(
        pipeline(stream, createWriteStream(path.join(folder, fileName)), { signal: aborted.signal }).then(
          () => {
            if (stream.truncated) complain('A reference is larger than 20 MB.')
          },
        ),
      )
    } else {
      complain(
        name === 'reference'
          ? `At most ${mostReferences} references are taken.`
          : 'Only the fields "job" and "reference" are taken.',
      )
      stream.resume()
    }
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
  if (complaint !== undefined) throw complaint
  if (jobText === undefined) throw new InvalidJob('The field "job" is missing.')
  return { request: parseJobRequest(jobText), references }
}

function openParser(contentType: string): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      // Some clients send the JSON with a file name; it is a field all the same.
      isPartAFile: (name) => name !== 'job',
      limits: {
        fileSize: referenceLimitBytes,
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

/** Reads a body nobody wants to its end, so that the client gets to read the answer. */
export async function drain(message: Readable): Promise<void> {
  message.resume()
  await finished(message, { writable: false }).catch(() => {})
}
