/**
 * The baseline of a copy: fetches a file, hashes it and writes it to a file or a bucket. With `curl`, a process of curl for each
 * copy does so, without a hash. A message with a number makes so many copies and is answered when all are done.
 */
import { spawn } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'

import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  S3Client,
  UploadPartCommand,
  type CompletedPart,
} from '@aws-sdk/client-s3'

import { answerRuns } from './answer-runs.ts'

const [program, url = '', authorization = '', directory = '', endpoint = ''] = process.argv.slice(2)
const Bucket = 'bench'
const copiesAtOnce = 8
const partBytes = 8 * 1_048_576
const { AWS_ACCESS_KEY_ID: keyId = '', AWS_SECRET_ACCESS_KEY: secret = '' } = process.env
const client =
  endpoint === '' ? undefined : new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true })

const openSource = async (): Promise<AsyncIterable<Uint8Array>> => {
  const { ok, body } = await fetch(url, { headers: { authorization } })
  if (!ok || body === null) throw new Error('the vendor refused a download')
  return body
}

const copyToFile = async () => {
  const path = join(directory, randomUUID())
  const hash = createHash('sha256')
  const file = await open(path, 'w')
  for await (const chunk of await openSource()) {
    hash.update(chunk)
    await file.write(chunk)
  }
  hash.digest()
  await file.sync()
  await file.close()
  await rm(path)
}

const copyToBucket = async (s3: S3Client) => {
  const target = { Bucket, Key: randomUUID() }
  const hash = createHash('sha256')
  const parts: CompletedPart[] = []
  let UploadId: string | undefined
  let chunks: Uint8Array[] = []
  let length = 0
  const sendPart = async () => {
    const Body = Buffer.concat(chunks)
    ;[chunks, length] = [[], 0]
    const part = { ...target, UploadId, PartNumber: parts.length + 1, Body }
    const { ETag, ChecksumCRC32 } = await s3.send(new UploadPartCommand(part))
    parts.push({ PartNumber: part.PartNumber, ETag, ChecksumCRC32 })
  }
  for await (const chunk of await openSource()) {
    hash.update(chunk)
    chunks.push(chunk)
    length += chunk.length
    if (length < partBytes) continue
    UploadId ??= (await s3.send(new CreateMultipartUploadCommand(target))).UploadId
    await sendPart()
  }
  hash.digest()
  if (UploadId === undefined) {
    await s3.send(new PutObjectCommand({ ...target, Body: Buffer.concat(chunks) }))
    return
  }
  if (length > 0) await sendPart()
  await s3.send(
    new CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload: { Parts: parts } }),
  )
}

const curl = async (...parameters: string[]) => {
  const child = spawn('curl', ['--silent', '--fail', ...parameters], { stdio: 'ignore' })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`curl ended with ${code}`)
}

const copyWithCurl = async () => {
  const path = join(directory, randomUUID())
  await curl('--header', `authorization: ${authorization}`, '--output', path, url)
  const signed = [
    ...['--aws-sigv4', 'aws:amz:us-east-1:s3', '--user', `${keyId}:${secret}`],
    ...['--header', 'x-amz-content-sha256: UNSIGNED-PAYLOAD'],
  ]
  if (endpoint !== '') await curl(...signed, '--upload-file', path, `${endpoint}/${Bucket}/${randomUUID()}`)
  await rm(path)
}

const copy =
  program === 'curl' ? copyWithCurl : client === undefined ? copyToFile : () => copyToBucket(client)

answerRuns(async (count) => {
  let started = 0
  const work = async () => {
    while (started < count) {
      started += 1
      await copy()
    }
  }
  await Promise.all(Array.from({ length: copiesAtOnce }, work))
})
