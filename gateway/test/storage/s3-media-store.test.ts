/** What the contract does not say: limits, retries, the names of objects and presigned URLs. */
import { createHash, randomBytes } from 'node:crypto'
import { mkdtempDisposable, readdir, writeFile } from 'node:fs/promises'
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'

import {
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
} from '@aws-sdk/client-s3'
import pLimit from 'p-limit'
import { beforeAll, expect, inject, test } from 'vitest'

import { MediaNotFound, MediaNotRemoved, MediaStoreUnavailable } from '../../src/storage/port/media-store.ts'
import { createSpool } from '../../src/storage/port/spool.ts'
import { parseBucketUrl } from '../../src/storage/s3/bucket-url.ts'
import { createS3MediaStore } from '../../src/storage/s3/s3-media-store.ts'
import { client, createBucket, useCredentials } from '../kit/buckets.ts'
import { encryptionKey, listMax } from '../kit/ceph.ts'

beforeAll(useCredentials)

const spool = createSpool(join(tmpdir(), 'kinora-unused-spool'))
/** Never reached, so that only what is awaited explicitly ends a test. */
const generous = { responseMs: 600_000, idleMs: 600_000 }

type Fault = (request: IncomingMessage, response: ServerResponse) => 'pass' | 'handled' | { bytes: number }

/** A proxy in front of the server. A fault may handle a request, or stall its response after some bytes. */
const startProxy = async () => {
  const { hostname: host, port } = new URL(inject('objectStore').endpoint)
  const state = {
    fault: (() => 'pass') as Fault,
    requests: [] as { method: string; headers: IncomingMessage['headers'] }[],
  }
  const server = createServer((request, response) => {
    const { method = '', url: path, headers } = request
    state.requests.push({ method, headers })
    const action = state.fault(request, response)
    if (action === 'handled') return
    let left = action === 'pass' ? Infinity : action.bytes
    const passed = forward({ host, port, method, path, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.on('data', (chunk: Buffer) => {
        if (left > 0) response.write(chunk.subarray(0, left))
        left -= chunk.length
      })
      answer.on('end', () => left >= 0 && response.end())
    })
    passed.on('error', () => response.destroy())
    request.pipe(passed)
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve())
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    state,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const openBehindProxy = async (limits = generous, parameters = '') => {
  const proxy = await startProxy()
  const { name, url } = await createBucket(proxy.url)
  const store = await createS3MediaStore(parseBucketUrl(`${url}${parameters}`), spool, limits)
  return { proxy, name, store, [Symbol.asyncDispose]: () => proxy[Symbol.asyncDispose]() }
}

const bytesOf = async (stream: Readable) => Buffer.concat(await stream.toArray())
const put = (
  store: Awaited<ReturnType<typeof openBehindProxy>>['store'],
  key: string,
  bytes: Buffer | string,
) => store.put(key, Readable.from([Buffer.from(bytes)]), { sizeBytesMax: 1_000_000_000 })

/** Applies a fault to the first requests that it matches. */
const firstTimes = (count: number, matches: (request: IncomingMessage) => boolean, fault: Fault): Fault => {
  let left = count
  return (request, response) => {
    if (left === 0 || !matches(request)) return 'pass'
    left -= 1
    return fault(request, response)
  }
}
const isGet = ({ method }: IncomingMessage) => method === 'GET'
const silent: Fault = () => 'handled'
const unavailable: Fault = (request, response) => {
  request.resume()
  response.writeHead(503).end()
  return 'handled'
}

test('a download that stalls or breaks off continues at the same byte', async () => {
  await using behind = await openBehindProxy({ ...generous, idleMs: 1_000 })
  const { store, proxy } = behind
  const bytes = randomBytes(3_000_000)
  await put(store, 'videos/a', bytes)
  proxy.state.fault = firstTimes(1, isGet, () => ({ bytes: 1_000_000 }))
  expect(bytes.equals(await bytesOf(await store.open('videos/a')))).toBe(true)
  let connection: IncomingMessage['socket'] | undefined
  proxy.state.fault = firstTimes(1, isGet, (request) => {
    connection = request.socket
    return { bytes: 100_000 }
  })
  const reading = await store.open('videos/a', { range: { start: 10, end: 2_000_000 } })
  reading.once('readable', () => connection?.destroy())
  expect(bytes.subarray(10, 2_000_001).equals(await bytesOf(reading))).toBe(true)
})

test('a download whose rest is gone or replaced fails', async () => {
  await using behind = await openBehindProxy({ ...generous, idleMs: 1_000 })
  const { store, proxy } = behind
  await put(store, 'videos/a', randomBytes(1_000_000))
  proxy.state.fault = firstTimes(1, isGet, () => ({ bytes: 1_000 }))
  const replaced = await store.open('videos/a')
  await put(store, 'videos/a', randomBytes(1_000_000))
  await expect(bytesOf(replaced)).rejects.toMatchObject({ name: 'PreconditionFailed' })
  proxy.state.fault = firstTimes(1, isGet, () => ({ bytes: 1_000 }))
  const removed = await store.open('videos/a')
  await store.remove('videos/a')
  await expect(bytesOf(removed)).rejects.toThrow(MediaNotFound)
})

test('downloads that nobody reads, or that stall, make no other caller wait', async () => {
  await using behind = await openBehindProxy()
  const { store, proxy } = behind
  await put(store, 'videos/a', randomBytes(1_000_000))
  proxy.state.fault = (request) => (isGet(request) ? { bytes: 1_000 } : 'pass')
  // More than the 50 connections that the SDK has by default.
  const stalled = await Promise.all(Array.from({ length: 120 }, () => store.open('videos/a')))
  proxy.state.fault = () => 'pass'
  await put(store, 'videos/b', 'text')
  expect((await bytesOf(await store.open('videos/b'))).toString()).toBe('text')
  for (const stream of stalled) stream.destroy()
})

test('a request without a response is repeated, and so is one that the server could not handle', async () => {
  await using behind = await openBehindProxy({ ...generous, responseMs: 2_000 })
  const { store, proxy } = behind
  await put(store, 'videos/a', 'text')
  for (const fault of [silent, unavailable]) {
    proxy.state.fault = firstTimes(2, isGet, fault)
    expect((await bytesOf(await store.open('videos/a'))).toString()).toBe('text')
  }
  proxy.state.fault = firstTimes(2, ({ method }) => method === 'PUT', unavailable)
  await put(store, 'videos/b', randomBytes(20_000_000))
  expect(await store.find('videos/b')).toMatchObject({ sizeBytes: 20_000_000 })
})

test('credentials that do not arrive make a call fail in time, and do not keep the caller from giving up', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-credentials-'))
  const config = join(directory.path, 'config')
  // It prints nothing, and ends with this process.
  await writeFile(config, `[default]\ncredential_process = tail --pid=${process.pid} -f /dev/null\n`)
  const { url } = await createBucket()
  delete process.env['AWS_ACCESS_KEY_ID']
  process.env['AWS_CONFIG_FILE'] = config
  try {
    const store = await createS3MediaStore(parseBucketUrl(url), spool, { ...generous, responseMs: 200 })
    const presigning = { contentType: 'video/mp4', disposition: 'inline', expiresInSeconds: 60 }
    for (const run of [
      () => store.find('videos/a'),
      () => store.presign?.('videos/a', presigning),
      () => put(store, 'videos/a', 'text'),
    ])
      await expect(run()).rejects.toThrow(MediaStoreUnavailable)
    expect(await store.findProblem?.()).toMatch(/did not respond within/)
    const patient = await createS3MediaStore(parseBucketUrl(url), spool, generous)
    const stop = new AbortController()
    const opening = patient.open('videos/a', { signal: stop.signal })
    stop.abort(new Error('the deadline'))
    await expect(opening).rejects.toThrow('the deadline')
  } finally {
    delete process.env['AWS_CONFIG_FILE']
    useCredentials()
  }
})

test('retries and requests end with the signal of the caller', async () => {
  await using behind = await openBehindProxy()
  const { store, proxy } = behind
  for (const fault of [silent, unavailable]) {
    const stop = new AbortController()
    proxy.state.fault = (request, response) => {
      if (fault === silent || proxy.state.requests.length > 1) stop.abort(new Error('the deadline'))
      return fault(request, response)
    }
    proxy.state.requests = []
    const { signal } = stop
    await expect(store.open('videos/a', { signal })).rejects.toThrow()
    expect(signal.aborted).toBe(true)
    expect(proxy.state.requests.length).toBeLessThanOrEqual(2)
  }
})

test('an upload that is aborted while the server is silent ends at once and leaves no parts', async () => {
  await using behind = await openBehindProxy()
  const { store, proxy, name } = behind
  const stop = new AbortController()
  proxy.state.fault = ({ method, url = '' }) => {
    if (method !== 'PUT' || !url.includes('partNumber=2')) return 'pass'
    stop.abort(new Error('superseded'))
    return 'handled'
  }
  const source = Readable.from([randomBytes(30_000_000)])
  const options = { sizeBytesMax: 30_000_000, signal: stop.signal }
  await expect(store.put('videos/a', source, options)).rejects.toThrow('superseded')
  const { Uploads } = await client.send(new ListMultipartUploadsCommand({ Bucket: name }))
  expect(Uploads).toBeUndefined()
  expect(await store.find('videos/a')).toBeUndefined()
})

test('parts of a result are uploaded while it arrives, and it is an object once it is kept', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-receive-'))
  await using proxy = await startProxy()
  const { name, url } = await createBucket(proxy.url)
  const store = await createS3MediaStore(parseBucketUrl(url), createSpool(directory.path), generous)
  const firstPart = Promise.withResolvers<void>()
  proxy.state.fault = ({ url: path = '' }) => {
    if (path.includes('partNumber=1')) firstPart.resolve()
    return 'pass'
  }
  const bytes = randomBytes(30_000_000)
  const source = Readable.from(
    (async function* () {
      for (let start = 0; start < 20_000_000; start += 1_000_000)
        yield bytes.subarray(start, start + 1_000_000)
      // The rest arrives only after the first part was sent.
      await firstPart.promise
      yield bytes.subarray(20_000_000)
    })(),
    { objectMode: false },
  )
  const received = await store.receive('videos/a', source, { sizeBytesMax: bytes.length })
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: name }))
  expect(Uploads).toHaveLength(1)
  expect(await store.find('videos/a')).toBeUndefined()
  await received.keep()
  expect(bytes.equals(await bytesOf(await store.open('videos/a')))).toBe(true)
})

test('a result whose parts cannot be stored is not downloaded to its end, and leaves no parts', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-receive-'))
  await using proxy = await startProxy()
  const { name, url } = await createBucket(proxy.url)
  const store = await createS3MediaStore(parseBucketUrl(url), createSpool(directory.path), generous)
  proxy.state.fault = (request, response) => {
    if (request.url?.includes('partNumber=2') !== true) return 'pass'
    request.resume()
    response.writeHead(403).end()
    return 'handled'
  }
  const endless = Readable.from(
    (async function* () {
      for (;;) yield randomBytes(1_000_000)
    })(),
    { objectMode: false },
  )
  const receiving = store.receive('videos/a', endless, { sizeBytesMax: Infinity })
  await expect(receiving).rejects.toThrow(MediaStoreUnavailable)
  expect(endless.destroyed).toBe(true)
  expect((await client.send(new ListMultipartUploadsCommand({ Bucket: name }))).Uploads).toBeUndefined()
  expect(await readdir(directory.path)).toEqual([])
})

test('a result that changes between its check and its store is refused by the server', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-receive-'))
  const { url } = await createBucket()
  const store = await createS3MediaStore(parseBucketUrl(url), createSpool(directory.path), generous)
  const received = await store.receive('videos/a', Readable.from([Buffer.from('frames')]), {
    sizeBytesMax: 10,
  })
  await writeFile(received.path, 'others')
  await expect(received.keep()).rejects.toThrow()
  expect(await store.find('videos/a')).toBeUndefined()
  expect(await readdir(directory.path)).toEqual([])
})

/** The object of `videos/<name>`. */
const objectOf = (name: string) =>
  `media/videos/${createHash('sha256').update(`videos/${name}`).digest('hex').slice(0, 2)}/${name}`

test('what a process that died has uploaded of objects is removed, and nothing of other users of the bucket', async () => {
  const { name, url } = await createBucket()
  const store = await createS3MediaStore(parseBucketUrl(url), spool)
  const begin = (Key: string) => client.send(new CreateMultipartUploadCommand({ Bucket: name, Key }))
  await begin(objectOf('a'))
  await begin(objectOf('2026-01-01/b'))
  const others = ['media/report.csv', 'media/videos/2026/a.mp4', 'other/a']
  for (const key of others) await begin(key)
  expect(await store.removeUnfinished?.(new Date(Date.now() - 60_000))).toBe(0)
  expect(await store.removeUnfinished?.(new Date(Date.now() + 60_000))).toBe(2)
  const { Uploads = [] } = await client.send(new ListMultipartUploadsCommand({ Bucket: name }))
  expect(Uploads.map(({ Key }) => Key)).toEqual(others)
})

test('an upload that ends before it is removed does not keep the others', async () => {
  await using behind = await openBehindProxy()
  const { store, proxy, name } = behind
  for (const each of ['a', 'b']) {
    await client.send(new CreateMultipartUploadCommand({ Bucket: name, Key: objectOf(each) }))
  }
  const isAbort = ({ method }: IncomingMessage) => method === 'DELETE'
  proxy.state.fault = firstTimes(1, isAbort, (request, response) => {
    request.resume()
    response.writeHead(404, { 'content-type': 'application/xml' })
    response.end('<Error><Code>NoSuchUpload</Code><Message>It does not exist.</Message></Error>')
    return 'handled'
  })
  expect(await store.removeUnfinished?.(new Date(Date.now() + 60_000))).toBe(1)
})

test('an upload whose completion was not confirmed is complete', async () => {
  await using behind = await openBehindProxy({ ...generous, responseMs: 2_000 })
  const { store, proxy } = behind
  const isCompletion = ({ method, url = '' }: IncomingMessage) =>
    method === 'POST' && url.includes('uploadId=')
  // The server completes it, and its response breaks off.
  proxy.state.fault = firstTimes(1, isCompletion, (request, response) => {
    const { hostname: host, port } = new URL(inject('objectStore').endpoint)
    const { method, url: path, headers } = request
    request.pipe(forward({ host, port, method, path, headers, agent: false }, () => response.destroy()))
    return 'handled'
  })
  const bytes = randomBytes(20_000_000)
  await put(store, 'videos/a', bytes)
  expect(bytes.equals(await bytesOf(await store.open('videos/a')))).toBe(true)
})

test('objects of a folder are spread over prefixes, and a list of several pages has all of them', async () => {
  const { name, url } = await createBucket()
  const store = await createS3MediaStore(parseBucketUrl(url), spool)
  const keys = Array.from({ length: listMax + 150 }, (_, index) => `videos/2026-01-01/${index}.mp4`)
  await store.put(keys[0] ?? '', Readable.from([Buffer.from('x')]), { sizeBytesMax: 1 })
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: name }))
  expect(Contents[0]?.Key).toMatch(/^media\/videos\/[0-9a-f]{2}\/2026-01-01\/0\.mp4$/)
  const limited = pLimit(16)
  await Promise.all(keys.map((key) => limited(() => put(store, key, 'x'))))
  const found: string[] = []
  for await (const { key } of store.list('videos')) found.push(key)
  expect(found.toSorted()).toEqual(keys.toSorted())
  const stored = await client.send(
    new ListObjectsV2Command({ Bucket: name, Prefix: 'media/videos/', Delimiter: '/' }),
  )
  expect(stored.CommonPrefixes?.length).toBeGreaterThan(150)
  // One request removes a thousand. Objects that do not exist are removed as well.
  const others = Array.from({ length: 1_000 }, (_, index) => `videos/2026-01-02/${index}.mp4`)
  await store.removeMany([...others, ...keys])
  expect((await client.send(new ListObjectsV2Command({ Bucket: name }))).KeyCount).toBe(0)
})

test('objects that could not be removed are named', async () => {
  await using behind = await openBehindProxy()
  const { store, proxy } = behind
  proxy.state.fault = (request, response) => {
    request.resume()
    response.writeHead(403).end()
    return 'handled'
  }
  const error = await store.removeMany(['videos/a', 'videos/b']).catch((caught: unknown) => caught)
  expect(error).toBeInstanceOf(MediaNotRemoved)
  expect([...(error as MediaNotRemoved).failures.keys()]).toEqual(['videos/a', 'videos/b'])
})

test('a presigned URL opens the object for a while, with the given headers, and no other object', async () => {
  const { url } = await createBucket()
  const store = await createS3MediaStore(parseBucketUrl(url), spool)
  await put(store, 'videos/a', 'frames')
  await put(store, 'videos/b', 'other')
  const options = { contentType: 'video/mp4', disposition: 'inline', expiresInSeconds: 900 }
  const presigned = (await store.presign?.('videos/a', options)) ?? ''
  expect(new URL(presigned).searchParams.get('X-Amz-Expires')).toBe('900')
  const response = await fetch(presigned, { headers: { range: 'bytes=1-3' } })
  expect(response.status).toBe(206)
  expect(await response.text()).toBe('ram')
  expect(Object.fromEntries(response.headers)).toMatchObject({
    'content-type': 'video/mp4',
    'content-disposition': 'inline',
  })
  const other = new URL((await store.presign?.('videos/b', options)) ?? '').pathname
  expect((await fetch(presigned.replace(new URL(presigned).pathname, other))).status).toBe(403)
})

test('the configured encryption is requested for small and large objects', async () => {
  await using behind = await openBehindProxy(generous, '&encryption=aws:kms&kms_key=alias/media')
  const { store, proxy } = behind
  const isWrite = ({ method, url = '' }: IncomingMessage) =>
    method === 'PUT' || (method === 'POST' && url.includes('uploads'))
  const requested: unknown[] = []
  // This server has no keys.
  proxy.state.fault = (request, response) => {
    if (!isWrite(request)) return 'pass'
    const { 'x-amz-server-side-encryption': algorithm, 'x-amz-server-side-encryption-aws-kms-key-id': key } =
      request.headers
    requested.push([algorithm, key])
    request.resume()
    response.writeHead(400).end()
    return 'handled'
  }
  await expect(put(store, 'videos/a', 'small')).rejects.toThrow()
  await expect(put(store, 'videos/a', randomBytes(20_000_000))).rejects.toThrow()
  expect(requested).toEqual([
    ['aws:kms', 'alias/media'],
    ['aws:kms', 'alias/media'],
  ])
})

test('objects are encrypted with the configured key, and read, in part and by presigned URL, like others', async () => {
  const { url, name } = await createBucket()
  const bucket = parseBucketUrl(`${url}&encryption=aws:kms&kms_key=${encryptionKey}`)
  const store = await createS3MediaStore(bucket, spool)
  const contents = { 'videos/small': randomBytes(1_000), 'videos/large': randomBytes(20_000_000) }
  for (const [key, bytes] of Object.entries(contents)) {
    await put(store, key, bytes)
    expect(Buffer.concat(await (await store.open(key)).toArray()).equals(bytes)).toBe(true)
    const range = { start: 500, end: bytes.length - 10 }
    const part = Buffer.concat(await (await store.open(key, { range })).toArray())
    expect(part.equals(bytes.subarray(range.start, range.end + 1))).toBe(true)
    const options = { contentType: 'video/mp4', disposition: 'inline', expiresInSeconds: 60 }
    const presigned = await fetch((await store.presign?.(key, options)) ?? '')
    expect(Buffer.from(await presigned.arrayBuffer()).equals(bytes)).toBe(true)
  }
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: name }))
  const heads = await Promise.all(
    Contents.map(({ Key }) => client.send(new HeadObjectCommand({ Bucket: name, Key }))),
  )
  const encrypted = { ServerSideEncryption: 'aws:kms', SSEKMSKeyId: encryptionKey }
  expect(heads).toEqual([expect.objectContaining(encrypted), expect.objectContaining(encrypted)])
})

test('without a key that the server knows, nothing is stored', async () => {
  const { url, name } = await createBucket()
  const store = await createS3MediaStore(parseBucketUrl(`${url}&encryption=aws:kms&kms_key=unknown`), spool)
  await expect(put(store, 'videos/a', 'small')).rejects.toThrow()
  const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: name }))
  expect(Contents).toEqual([])
})

test('an upload uses as much memory as a few parts, whatever its size', async () => {
  await using behind = await openBehindProxy()
  const chunk = randomBytes(1_048_576)
  let largest = 0
  const { external: before } = process.memoryUsage()
  const source = Readable.from(
    (async function* () {
      for (let index = 0; index < 300; index += 1) {
        largest = Math.max(largest, process.memoryUsage().external - before)
        yield Buffer.from(chunk)
      }
    })(),
    { objectMode: false },
  )
  // The server need not store the parts.
  behind.proxy.state.fault = (request, response) => {
    if (request.method !== 'PUT') return 'pass'
    request.resume().once('end', () => response.writeHead(200, { etag: '"x"' }).end())
    return 'handled'
  }
  await expect(behind.store.put('videos/a', source, { sizeBytesMax: 500_000_000 })).rejects.toThrow()
  expect(largest).toBeLessThan(150_000_000)
})

test('a bucket that does not exist is reported at the start; a server that is down is not', async () => {
  const { url } = await createBucket()
  const missing = await createS3MediaStore(parseBucketUrl(url.replace('test-', 'none-')), spool)
  await expect(missing.assertUsable('MEDIA_STORE')).rejects.toThrow('cannot be used: it does not exist')
  await using behind = await openBehindProxy()
  behind.proxy.state.fault = unavailable
  await behind.store.assertUsable('MEDIA_STORE')
})
