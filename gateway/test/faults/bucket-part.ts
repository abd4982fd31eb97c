/** A bucket in an S3 server of its own, behind a proxy that can misbehave. */
import { mkdir } from 'node:fs/promises'
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'

import type { Environment } from '../../src/config.ts'
import { startCeph, type Ceph } from '../kit/ceph.ts'

/**
 * `slow`: every response waits, and its body trickles. `busy`: 503 SlowDown. `truncated`: the connection breaks in the middle of
 * every other body.
 */
export type BucketFault = 'slow' | 'busy' | 'truncated'

export interface BucketPart extends AsyncDisposable {
  ceph: Ceph
  environment: Environment
  /** Undefined repairs it. */
  set: (fault: BucketFault | undefined) => void
}

const slowWaitMs = 2_000
const slowChunkBytes = 65_536
const slowChunkMs = 200

const busy = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>SlowDown</Code><Message>Please reduce your request rate.</Message></Error>`

const trickle = async (answer: IncomingMessage, response: ServerResponse) => {
  for await (const chunk of answer as AsyncIterable<Buffer>)
    for (let start = 0; start < chunk.length; start += slowChunkBytes) {
      response.write(chunk.subarray(start, start + slowChunkBytes))
      await sleep(slowChunkMs)
    }
  response.end()
}

const truncate = (answer: IncomingMessage, response: ServerResponse) => {
  const half = Number(answer.headers['content-length'] ?? 0) / 2
  let sent = 0
  answer.on('data', (chunk: Buffer) => {
    sent += chunk.length
    if (sent >= half) response.destroy()
    else response.write(chunk)
  })
  answer.on('end', () => response.end())
}

export const startBucket = async (directory: string): Promise<BucketPart> => {
  await mkdir(join(directory, 'ceph'))
  const ceph = await startCeph(join(directory, 'ceph'))
  const { endpoint, accessKeyId, secretAccessKey } = ceph
  const { hostname: host, port } = new URL(endpoint)
  let fault: BucketFault | undefined
  let responses = 0

  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    const { method, url: path, headers } = request
    if (fault === 'busy') {
      request.resume()
      response.writeHead(503, { 'content-type': 'application/xml' }).end(method === 'HEAD' ? '' : busy)
      return
    }
    const isSlow = fault === 'slow'
    if (isSlow) await sleep(slowWaitMs)
    const passed = forward({ host, port, method, path, headers, agent: false }, (answer) => {
      responses += 1
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      if (isSlow) trickle(answer, response).catch(() => response.destroy())
      else if (fault === 'truncated' && method === 'GET' && responses % 2 === 0) truncate(answer, response)
      else answer.pipe(response)
    })
    passed.on('error', () => response.destroy())
    request.on('error', () => passed.destroy())
    request.pipe(passed)
  }
  const proxy = createServer((request, response) => void pass(request, response))
  await new Promise<void>((resolve) => {
    proxy.listen(0, '127.0.0.1', () => resolve())
  })
  const client = new S3Client({
    ...{ endpoint, region: 'us-east-1', forcePathStyle: true },
    credentials: { accessKeyId, secretAccessKey },
  })
  await client.send(new CreateBucketCommand({ Bucket: 'faults' }))
  client.destroy()
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  return {
    ceph,
    environment: {
      AWS_ACCESS_KEY_ID: accessKeyId,
      AWS_SECRET_ACCESS_KEY: secretAccessKey,
      MEDIA_STORE: `s3://faults/media?endpoint=${encodeURIComponent(url)}&path_style=true`,
    },
    set: (wanted) => {
      fault = wanted
    },
    [Symbol.asyncDispose]: async () => {
      proxy.closeAllConnections()
      proxy.close()
      await ceph.stop()
    },
  }
}
