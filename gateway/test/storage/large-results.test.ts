/** A result of 2 GB on its way into the bucket and out of it: memory, and throughput beside the bare SDK. */
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream, createWriteStream, statSync } from 'node:fs'
import { mkdtempDisposable, open, stat, writeFile } from 'node:fs/promises'
import { createServer, get, request as forward, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'

import {
  CompleteMultipartUploadCommand,
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  GetObjectCommand,
  S3Client,
  UploadPartCommand,
  type CompletedPart,
} from '@aws-sdk/client-s3'
import { expect, test } from 'vitest'

import { startVendor } from '../../../dev/vendor/vendor.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { parseBucketUrl } from '../../src/storage/s3/bucket-url.ts'
import { ask } from '../kit/answers.ts'
import { startCeph } from '../kit/ceph.ts'
import { createDatabase } from '../kit/database.ts'
import { peakDuring, residentMib } from '../kit/resident-memory.ts'
import { startStack } from '../kit/stack.ts'

const run = promisify(execFile)
const resultBytes = 2_000_000_000
/** The API sends chunks faster than Node collects them. */
const growthMibMax = { worker: 64, api: 128 }
const shareMin = 0.8
const rounds = 3
/** Only bounds a run that fails. */
const longestMs = 1_200_000
const mebibyte = 1_048_576
const partBytes = 8 * mebibyte

/** Two playable videos: noise of ordinary size, and the same many times. */
const makeVideos = async (directory: string): Promise<{ ordinary: string; large: string }> => {
  const [ordinary, list, large] = ['clip.mp4', 'list.txt', 'video.mp4'].map((name) =>
    join(directory, name),
  ) as [string, string, string]
  const noise = join(directory, 'noise.yuv')
  const [width, height, frames] = [1280, 720, 60]
  await writeFile(noise, randomBytes(width * height * 1.5 * frames))
  await run('ffmpeg', [
    ...['-v', 'error', '-f', 'rawvideo', '-pix_fmt', 'yuv420p', '-s', `${width}x${height}`, '-r', '30'],
    ...['-i', noise, '-c:v', 'libx264', '-preset', 'ultrafast', '-crf', '10', ordinary],
  ])
  const times = Math.floor(resultBytes / (await stat(ordinary)).size)
  await writeFile(list, `file '${ordinary}'\n`.repeat(times))
  await run('ffmpeg', ['-v', 'error', '-f', 'concat', '-safe', '0', '-i', list, '-c', 'copy', large])
  return { ordinary, large }
}

/** The vendor, with other videos. */
const startVendorOf = async (vendorUrl: string, video: string) => {
  const { hostname: host, port } = new URL(vendorUrl)
  const state = { video }
  const server = createServer((request, response) => {
    const { method, url: path = '', headers } = request
    if (path.endsWith('/content')) {
      response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': statSync(state.video).size })
      createReadStream(state.video).pipe(response)
      return
    }
    const passed = forward({ host, port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    request.pipe(passed)
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', () => resolve())
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    state,
    [Symbol.dispose]: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

const discard = (source: Readable) =>
  pipeline(
    source,
    new Writable({
      highWaterMark: mebibyte,
      write: (_chunk, _encoding, done) => done(),
    }),
  )

/** Parts of the same size as those of the store, as many at a time, and nothing else. */
const uploadBare = async (client: S3Client, target: { Bucket: string; Key: string }, path: string) => {
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(target))
  await using file = await open(path)
  const Parts: CompletedPart[] = []
  let count = 0
  const sendParts = async () => {
    for (;;) {
      const index = count
      count += 1
      const { buffer: Body, bytesRead } = await file.read(
        Buffer.allocUnsafe(partBytes),
        ...[0, partBytes, index * partBytes],
      )
      if (bytesRead === 0) return
      const part = { ...target, UploadId, PartNumber: index + 1, Body: Body.subarray(0, bytesRead) }
      const { ETag, ChecksumCRC32 } = await client.send(new UploadPartCommand(part))
      Parts[index] = { PartNumber: index + 1, ETag, ChecksumCRC32 }
    }
  }
  await Promise.all([sendParts(), sendParts()])
  await client.send(new CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload: { Parts } }))
}

const download = async (link: string) => {
  const [response] = (await once(get(link), 'response')) as [IncomingMessage]
  await discard(response)
}

const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN

/** The median times of several pieces of work, which take turns. */
const timeEach = async <Name extends string>(works: Record<Name, () => Promise<unknown>>) => {
  const times = new Map<string, number[]>()
  for (let round = 0; round < rounds; round += 1)
    for (const [name, work] of Object.entries<() => Promise<unknown>>(works)) {
      const startedMs = performance.now()
      await work()
      times.set(name, [...(times.get(name) ?? []), performance.now() - startedMs])
    }
  return (name: Name) => median(times.get(name) ?? [])
}

test('a result of 2 GB needs little memory, and is about as fast as the bare SDK', async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-large-'))
  await using ended = new AsyncDisposableStack()
  const ceph = await startCeph(directory.path)
  ended.defer(ceph.stop)
  const { endpoint, accessKeyId, secretAccessKey } = ceph
  const credentials = { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey }
  Object.assign(process.env, credentials)
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true })
  await client.send(new CreateBucketCommand({ Bucket: 'large' }))
  const bucketUrl = `s3://large/media?endpoint=${encodeURIComponent(endpoint)}&path_style=true`
  const videos = await makeVideos(directory.path)
  const { size } = await stat(videos.large)

  const apiKey = 'vendor-key-of-tests'
  await using database = await createDatabase()
  const vendor = await startVendor({ apiKey, durationMs: 300 })
  ended.defer(vendor.close)
  using serving = await startVendorOf(vendor.url, videos.ordinary)
  await using stack = await startStack({
    existing: { database, vendor },
    environment: { MEDIA_STORE: bucketUrl, ...credentials },
    routingConfig: () => ({
      providers: { vendor: { kind: 'openai', baseUrl: serving.url, apiKey, slots: 10 } },
      models: { 'vidB-2': { routes: [{ provider: 'vendor' }] } },
    }),
  })
  const read = async (id: string) => (await ask(`${stack.url}/v1/videos/${id}`, stack.key)).body
  const complete = async () => {
    const id = await stack.create('A whale')
    await stack.until('it is completed', async () => (await read(id))['status'] === 'completed', longestMs)
    return String((await read(id))['video_url'])
  }
  const pidOf = (role: { pid: () => number | undefined } | undefined) => role?.pid() ?? 0
  const [api, worker] = [pidOf(stack.api), pidOf(stack.workers[0])]
  // Buffers of any video take some memory until they are collected.
  await download(await complete())
  const before = { api: await residentMib(api), worker: await residentMib(worker) }
  serving.state.video = videos.large
  const { result: link, peakMib: workerPeakMib } = await peakDuring(worker, complete)
  const startedMs = performance.now()
  const { peakMib: apiPeakMib } = await peakDuring(api, () => download(link))
  const apiBytesPerMs = size / (performance.now() - startedMs)

  const { mediaStore } = await openStorage({
    MEDIA_DIRECTORY: join(directory.path, 'media'),
    MEDIA_STORE: parseBucketUrl(bucketUrl),
  })
  const part = { path: join(directory.path, 'part'), size: 300 * mebibyte }
  await pipeline(createReadStream(videos.large, { end: part.size - 1 }), createWriteStream(part.path))
  const bare = { Bucket: 'large', Key: 'bare' }
  const timeOf = await timeEach({
    'bare upload': () => uploadBare(client, bare, part.path),
    upload: () => mediaStore.putFile('videos/large', part.path),
    'bare download': async () => discard((await client.send(new GetObjectCommand(bare))).Body as Readable),
    download: async () => discard(await mediaStore.open('videos/large')),
  })
  const rateOf = (name: Parameters<typeof timeOf>[0]) => part.size / timeOf(name)
  const shares = {
    upload: rateOf('upload') / rateOf('bare upload'),
    download: rateOf('download') / rateOf('bare download'),
    'download through the API': apiBytesPerMs / rateOf('bare download'),
  }
  console.log(
    [
      `result of ${Math.round(size / 1_000_000)} MB, after one of ${Math.round((await stat(videos.ordinary)).size / 1_000_000)} MB`,
      `worker ${Math.round(before.worker)} MiB, at most ${Math.round(workerPeakMib)} MiB while it stores the result`,
      `API ${Math.round(before.api)} MiB, at most ${Math.round(apiPeakMib)} MiB while it sends the result`,
      ...(['bare upload', 'upload', 'bare download', 'download'] as const).map(
        (name) => `${name} ${Math.round(rateOf(name) / 1_000)} MB/s`,
      ),
      ...Object.entries(shares).map(([name, share]) => `${name}: ${share.toFixed(2)} of the bare SDK`),
    ].join('\n'),
  )
  expect(workerPeakMib - before.worker).toBeLessThan(growthMibMax.worker)
  expect(apiPeakMib - before.api).toBeLessThan(growthMibMax.api)
  expect(shares.upload).toBeGreaterThan(shareMin)
  expect(shares.download).toBeGreaterThan(shareMin)
})
