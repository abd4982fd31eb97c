import { createWriteStream } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream/promises'

import { Busboy, type BusboyInstance } from '@fastify/busboy'

import { byteLimit } from '../jobs/job-upload.ts'
import type { RecognitionOrder } from './recognition-plan.ts'
import { invalid, RecognitionRefusal } from './recognition-refusal.ts'

const megabyte = 1024 * 1024
const fileLimitBytes = 512 * megabyte
const bodyLimitBytes = fileLimitBytes + 4 * megabyte
const fieldLimitBytes = 64 * 1024

export interface ReceivedRecording {
  order: RecognitionOrder
  isVerbose: boolean
  isStream: boolean
}

/** Reads a multipart form and writes its recording to `file` as it arrives. */
export async function receiveRecording(
  message: IncomingMessage,
  file: string,
  task: RecognitionOrder['task'],
): Promise<ReceivedRecording> {
  const contentType = message.headers['content-type'] ?? ''
  if (!/^multipart\/form-data\s*;/iu.test(contentType)) throw invalid('The body must be multipart/form-data.')
  const parser = openParser(contentType)
  const fields = new Map<string, string[]>()
  // The parser does not end the current file when the client disconnects.
  const aborted = new AbortController()
  let writing: Promise<void> | undefined
  let failure: RecognitionRefusal | undefined
  let receivedBytes = 0

  parser.on('field', (name, value, _nameTruncated, valueTruncated) => {
    if (valueTruncated) failure ??= invalid(`The field "${name}" is too long.`)
    fields.set(name, [...(fields.get(name) ?? []), value])
  })
  parser.on('file', (name, stream) => {
    if (name !== 'file' || writing !== undefined) {
      failure ??= invalid('Send exactly one recording, in the field "file".')
      stream.resume()
      return
    }
    const limited = byteLimit(fileLimitBytes, () => {
      const message = `The recording is larger than ${fileLimitBytes / megabyte} MiB.`
      failure ??= new RecognitionRefusal(413, 'file_too_large', message)
    })
    writing = pipeline(stream, limited, createWriteStream(file), { signal: aborted.signal })
    writing.catch(() => {})
  })
  message.on('data', (chunk: Buffer) => {
    receivedBytes += chunk.length
    if (receivedBytes > bodyLimitBytes) message.destroy(invalid('The body is too large.'))
  })
  try {
    await pipeline(message, parser)
    await writing
  } catch (error) {
    aborted.abort()
    await writing?.catch(() => {})
    if (error instanceof RecognitionRefusal || !message.complete) throw error
    throw invalid('The multipart form is malformed.')
  }
  if (failure !== undefined) throw failure
  if (writing === undefined) throw invalid('The field "file" is missing.')
  return readFields(fields, file, task)
}

function readFields(
  fields: ReadonlyMap<string, string[]>,
  file: string,
  task: RecognitionOrder['task'],
): ReceivedRecording {
  const one = (name: string) => {
    const value = fields.get(name)?.at(-1)
    return value === undefined || value === '' ? undefined : value
  }
  const model = one('model')
  if (model === undefined) throw invalid('The field "model" is missing.')
  const temperature = Number(one('temperature') ?? 0)
  if (!(temperature >= 0 && temperature <= 1))
    throw invalid('The field "temperature" must be a number from 0 to 1.')
  const format = one('response_format') ?? 'json'
  if (format !== 'json' && format !== 'verbose_json') {
    throw invalid('The field "response_format" must be json or verbose_json.')
  }
  const isVerbose = format === 'verbose_json'
  const times = [
    ...(fields.get('timestamp_granularities[]') ?? []),
    ...(fields.get('timestamp_granularities') ?? []),
  ]
  if (times.some((each) => each !== 'word' && each !== 'segment')) {
    throw invalid('The field "timestamp_granularities[]" must be word or segment.')
  }
  return {
    order: {
      path: file,
      model,
      task,
      language: one('language'),
      prompt: one('prompt'),
      temperature,
      wantsSegments: isVerbose && (times.length === 0 || times.includes('segment')),
      wantsWords: isVerbose && times.includes('word'),
    },
    isVerbose,
    isStream: one('stream') === 'true',
  }
}

function openParser(contentType: string): BusboyInstance {
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      // A file part without a file name is accepted.
      isPartAFile: (name, type, fileName) => name === 'file' || fileName !== undefined,
      limits: { fieldSize: fieldLimitBytes, fields: 20, files: 2, parts: 40 },
    })
  } catch {
    throw invalid('The body has no usable multipart boundary.')
  }
}
