import { buffer } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { startVendor, type Vendor } from '../../../../dev/vendor/vendor.ts'
import { jobForTest, imageForTest } from '../../../test/kit/job-for-test.ts'
import { failureOf, listenForTest } from '../../../test/kit/listen-for-test.ts'
import type { Opaque, VideoJob, VideoJobStatus, VideoProvider } from '../port/video.ts'
import { replicateVideo, type ReplicateSettings } from './replicate-video.ts'

const soon = (): AbortSignal => AbortSignal.timeout(120_000)

const job = (prompt: string, changes: Partial<VideoJob> = {}): VideoJob =>
  jobForTest({ model: 'maker/video-1', prompt, ...changes })

const connect = (baseUrl: string, changes: Partial<ReplicateSettings> = {}): VideoProvider =>
  replicateVideo({
    baseUrl,
    apiKey: 'vendor-secret',
    input: {
      prompt: 'prompt',
      duration: 'seconds-number',
      aspect_ratio: 'aspect-ratio',
      image: 'image',
    },
    fixed: {},
    ...changes,
  })

describe('against the simulated vendor', () => {
  let vendor: Vendor
  let provider: VideoProvider

  beforeAll(async () => {
    vendor = await startVendor({ apiKey: 'vendor-secret', durationMs: 40 })
    provider = connect(`${vendor.url}/v1`)
  })
  afterAll(() => vendor.close())

  async function ended(ref: Opaque): Promise<VideoJobStatus> {
    for (;;) {
      const status = await provider.poll(ref, soon())
      if (status.kind !== 'running') return status
      await wait(10)
    }
  }

  test('a video with an image completes', async () => {
    const ref = await provider.submit(job('a lighthouse', { references: [imageForTest('pixels')] }), soon())
    const [booked] = vendor.jobs()
    expect(booked).toMatchObject({ model: 'maker/video-1', seconds: '4', size: '16:9', referenceBytes: 6 })
    const status = await ended(ref)
    if (status.kind !== 'done') throw new Error(`it ended as ${status.kind}`)
    const bytes = await buffer(await provider.openResult(ref, status.result, soon()))
    expect(bytes.subarray(4, 8).toString()).toBe('ftyp')
  })

  test('a cancelled job ends without a video', async () => {
    const ref = await provider.submit(job('vendor:never'), soon())
    await provider.cancel?.(ref, soon())
    expect(await ended(ref)).toMatchObject({ kind: 'refused', code: 'upstream_error' })
  })

  test('an unknown job is missing', async () => {
    expect(await provider.poll({ id: 'unheard-of' }, soon())).toEqual({ kind: 'missing' })
  })
})

interface Asked {
  path: string
  body: unknown
}

/** A vendor with a constant response that records its requests. */
async function answering(body: unknown) {
  const asked: Asked[] = []
  const server = await listenForTest((request, response, sent) => {
    asked.push({ path: request.url ?? '', body: sent.length === 0 ? undefined : JSON.parse(sent.toString()) })
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  return { ...server, asked, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

test.each([
  ['maker/video-1', '/v1/models/maker/video-1/predictions', undefined],
  ['maker/video-1:5c7d', '/v1/predictions', '5c7d'],
  ['5c7d', '/v1/predictions', '5c7d'],
])('the model %s is called at %s', async (model, path, version) => {
  await using server = await answering({ id: 'p1', status: 'starting' })
  await connect(server.url).submit(job('a pier', { model }), soon())
  expect(server.asked).toMatchObject([{ path }])
  expect(server.asked[0]?.body).toEqual({
    ...(version !== undefined && { version }),
    input: { prompt: 'a pier', duration: 4, aspect_ratio: '16:9' },
  })
})

test('fields are filled as configured, beside the constant ones', async () => {
  await using server = await answering({ id: 'p1' })
  const provider = connect(server.url, {
    input: { text: 'prompt', quality: 'resolution', dimensions: 'size', frames: 'images' },
    fixed: { fps: 24 },
  })
  await provider.submit(job('a pier', { references: [imageForTest('one'), imageForTest('two')] }), soon())
  expect(server.asked[0]?.body).toEqual({
    input: {
      fps: 24,
      text: 'a pier',
      quality: '720p',
      dimensions: '1280x720',
      frames: ['data:image/png;base64,b25l', 'data:image/png;base64,dHdv'],
    },
  })
})

test('an image without a field in the input is an error', async () => {
  await using server = await answering({ id: 'p1' })
  const references = [imageForTest('one'), imageForTest('two')]
  const failure = await failureOf(connect(server.url).submit(job('a pier', { references }), soon()))
  expect(failure).toMatchObject({ kind: 'rejected', code: 'invalid_image' })
  expect(server.asked).toEqual([])
})

test.each([
  ['https://files.example/a.mp4', { url: 'https://files.example/a.mp4' }],
  [['https://files.example/a.mp4', 'https://files.example/b.mp4'], { url: 'https://files.example/a.mp4' }],
  [{ video: 'https://files.example/a.mp4' }, { url: 'https://files.example/a.mp4' }],
])('the output %j has a link', async (output, result) => {
  await using server = await answering({ id: 'p1', status: 'succeeded', output })
  expect(await connect(server.url).poll({ id: 'p1' }, soon())).toEqual({ kind: 'done', result })
})

test.each([
  [{ output: null, data_removed: true }],
  [{ output: [] }],
  [{ output: 'a caption instead of a video' }],
  [{}],
])('success with %j is a refusal', async (rest) => {
  await using server = await answering({ id: 'p1', status: 'succeeded', ...rest })
  expect(await connect(server.url).poll({ id: 'p1' }, soon())).toMatchObject({
    kind: 'refused',
    code: 'upstream_error',
  })
})

test.each([
  ['failed', 'NSFW content detected. Try a different prompt.', 'content_policy_violation'],
  ['failed', 'The input or output was flagged as sensitive. (E005)', 'content_policy_violation'],
  ['failed', 'invalid_input: duration must be 5 or 10', 'invalid_parameter'],
  ['failed', 'CUDA out of memory', 'upstream_error'],
  ['canceled', null, 'upstream_error'],
  ['aborted', null, 'upstream_error'],
])('%s with "%s" is %s', async (status, error, code) => {
  await using server = await answering({ id: 'p1', status, error })
  expect(await connect(server.url).poll({ id: 'p1' }, soon())).toMatchObject({ kind: 'refused', code })
})

test('an unknown status is running', async () => {
  await using server = await answering({ id: 'p1', status: 'dreaming' })
  expect(await connect(server.url).poll({ id: 'p1' }, soon())).toEqual({
    kind: 'running',
    progress: undefined,
  })
})

test.each([[null], ['p1'], [{ id: '../models' }], [{ name: 'p1' }]] as Opaque[][])(
  'the reference %j is refused',
  async (ref) => {
    const failure = await failureOf(connect('http://127.0.0.1:9').poll(ref ?? null, soon()))
    expect(failure).toMatchObject({ kind: 'rejected', message: 'not a reference of this provider' })
  },
)
