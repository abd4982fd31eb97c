import { buffer } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { startVendor, type Vendor } from '../../../../dev/vendor/vendor.ts'
import { jobForTest, imageForTest } from '../../../test/kit/job-for-test.ts'
import { failureOf, listenForTest } from '../../../test/kit/listen-for-test.ts'
import { type Exchange, withExchanges } from '../port/exchange.ts'
import type { ImageRole, Opaque, VideoJob, VideoJobStatus, VideoProvider } from '../port/video.ts'
import { aiSdkVideo, type AiSdkSettings } from './ai-sdk-video.ts'

const soon = (): AbortSignal => AbortSignal.timeout(120_000)

const job = (prompt: string, changes: Partial<VideoJob> = {}): VideoJob =>
  jobForTest({ model: 'maker/video-1', prompt, ...changes })

const providerConfigAt = (baseUrl: string, changes: Partial<AiSdkSettings> = {}): AiSdkSettings => ({
  baseUrl,
  apiKey: 'vendor-secret',
  connections: 8,
  resultOrigins: [],
  package: '@ai-sdk/replicate',
  options: {},
  providerOptions: {},
  frame: 'both',
  answerMegabytes: 1,
  ...changes,
})

const connect = (baseUrl: string, changes: Partial<AiSdkSettings> = {}): VideoProvider =>
  aiSdkVideo(providerConfigAt(baseUrl, changes))

describe('with a published package, against the simulated vendor', () => {
  let vendor: Vendor
  let provider: VideoProvider

  beforeAll(async () => {
    vendor = await startVendor({ apiKey: 'vendor-secret', durationMs: 40 })
    provider = connect(`${vendor.url}/ai-sdk/v1`)
  })
  afterAll(() => vendor.close())

  async function ended(ref: Opaque): Promise<VideoJobStatus> {
    for (;;) {
      const status = await provider.poll(ref, soon())
      if (status.kind !== 'running') return status
      await wait(10)
    }
  }

  test('a video with an image completes, and its reference survives a restart', async () => {
    const exchanges: Exchange[] = []
    const note = (exchange: Exchange) => exchanges.push(exchange)
    const submitted = await withExchanges(note, () =>
      provider.submit(job('a lighthouse', { references: [imageForTest('pixels')] }), soon()),
    )
    const ref = JSON.parse(JSON.stringify(submitted)) as Opaque
    expect(vendor.jobs()).toMatchObject([
      { kind: 'ai-sdk', model: 'maker/video-1', seconds: '4', size: '16:9', referenceBytes: 6 },
    ])
    const status = await ended(ref)
    if (status.kind !== 'done') throw new Error(`it ended as ${status.kind}`)
    const bytes = await buffer(await provider.openResult(ref, status.result, soon()))
    expect(bytes.subarray(4, 8).toString()).toBe('ftyp')
    expect(exchanges).toMatchObject([{ what: 'submit', method: 'POST', status: 201 }])
    expect(JSON.stringify(exchanges)).not.toContain('lighthouse')
  })

  test.each([
    ['vendor:busy', { kind: 'busy', retryAfterMs: 100 }],
    ['vendor:drop-reply', { kind: 'unknown' }],
    ['vendor:garbage', { kind: 'unknown' }],
    ['vendor:500-then-ok', { kind: 'unknown' }],
    ['vendor:reject=content_policy_violation', { kind: 'moderated', code: 'content_policy_violation' }],
    ['vendor:reject=invalid_value', { kind: 'rejected', code: 'invalid_parameter' }],
  ])('a submit with %s fails as it does everywhere', async (words, failure) => {
    const prompt = `${words} ${Math.random()}`
    expect(await failureOf(provider.submit(job(prompt), soon()))).toMatchObject(failure)
  })

  test('a refused connection is not delivered', async () => {
    const failure = await failureOf(connect('http://127.0.0.1:9/v1').submit(job('a pier'), soon()))
    expect(failure).toMatchObject({ kind: 'not_delivered' })
  })

  test.each([
    ['content_policy_violation', 'content_policy_violation'],
    ['server_error', 'upstream_error'],
  ])('a job that fails with %s is refused as %s', async (fail, code) => {
    const ref = await provider.submit(job(`vendor:fail=${fail}`), soon())
    expect(await ended(ref)).toMatchObject({ kind: 'refused', code })
  })

  test('an unknown job is missing', async () => {
    const ref = (await provider.submit(job('a short-lived job'), soon())) as Record<string, Opaque>
    const operation = JSON.stringify(ref['operation']).replace(/video_\w+/, 'unheard-of')
    const other = { ...ref, operation: JSON.parse(operation) as Opaque }
    expect(await provider.poll(other, soon())).toEqual({ kind: 'missing' })
  })

  test('a reference to another origin is not followed, and the key is not sent there', async () => {
    const asked: unknown[] = []
    await using elsewhere = await listenForTest((request, response) => {
      asked.push(request.headers)
      response.end('{}')
    })
    const ref = { model: 'maker/video-1', operation: { getUrl: `${elsewhere.url}/v1/predictions/1` } }
    expect(await failureOf(provider.poll(ref, soon()))).toMatchObject({ name: 'ProviderFailure' })
    expect(asked).toEqual([])
  })

  test('a package cannot call another origin than the base URL', async () => {
    const elsewhere = connect(vendor.url, { package: '@ai-sdk/fal' })
    expect(await failureOf(elsewhere.submit(job('a pier', { model: 'maker/one' }), soon()))).toMatchObject({
      kind: 'not_delivered',
      message: expect.stringContaining('another origin'),
    })
  })
})

test('a missing package is named with the command that installs it', async () => {
  const provider = connect('http://127.0.0.1:9', { package: '@ai-sdk/not-there' })
  expect(await failureOf(provider.submit(job('a pier'), soon()))).toMatchObject({
    kind: 'not_delivered',
    message: expect.stringContaining('npm install @ai-sdk/not-there'),
  })
})

test('a built-in module of Node is not accepted as a package', async () => {
  const provider = connect('http://127.0.0.1:9', { package: 'net', factory: 'createConnection' })
  expect(await failureOf(provider.submit(job('a pier'), soon()))).toMatchObject({ kind: 'not_delivered' })
})

test('a missing factory is reported with the existing ones', async () => {
  const provider = connect('http://127.0.0.1:9', { factory: 'createVideos' })
  expect(await failureOf(provider.submit(job('a pier'), soon()))).toMatchObject({
    kind: 'rejected',
    message: expect.stringContaining('it has createReplicate'),
  })
})

/** A fake package with the given models. */
const packaged = (model: Record<string, unknown>, seen: Record<string, unknown>[] = []) =>
  aiSdkVideo(providerConfigAt('http://127.0.0.1:9'), async () => ({
    createMadeUp: (options: Record<string, unknown>) => {
      seen.push(options)
      return { videoModel: () => model }
    },
  }))

const response = { timestamp: new Date(), modelId: 'm', headers: undefined }
const ref = { model: 'm', operation: 'o' }

test('a model without asynchronous jobs is refused with the reason', async () => {
  const provider = packaged({ doGenerate: async () => ({ videos: [] }) })
  expect(await failureOf(provider.submit(job('a pier'), soon()))).toMatchObject({
    kind: 'rejected',
    message: expect.stringContaining('doStart and doStatus'),
  })
})

test('a missing key is not read from the environment', async () => {
  const seen: Record<string, unknown>[] = []
  const settings = { ...providerConfigAt('http://127.0.0.1:9'), apiKey: undefined }
  const model = { doStart: async () => ({ operation: 'o' }), doStatus: async () => ({}) }
  const provider = aiSdkVideo(settings, async () => ({
    createMadeUp: (options: Record<string, unknown>) => {
      seen.push(options)
      return { videoModel: () => model }
    },
  }))
  await provider.submit(job('a pier'), soon())
  expect(seen).toMatchObject([{ apiKey: '', apiToken: '' }])
})

test.each([
  ['base64', Buffer.from('a video').toString('base64')],
  ['binary', new Uint8Array(Buffer.from('a video'))],
])('a video that arrives as %s is not stored but requested again', async (type, data) => {
  const videos = [{ type, data, mediaType: 'video/mp4' }]
  const doStatus = async () => ({ status: 'completed', videos, warnings: [], response })
  const provider = packaged({ doStart: async () => ({}), doStatus })
  const status = await provider.poll(ref, soon())
  expect(status).toEqual({ kind: 'done', result: { isInline: true } })
  const bytes = await buffer(await provider.openResult(ref, { isInline: true }, soon()))
  expect(bytes.toString()).toBe('a video')
})

test.each([[[]], [[{ type: 'uploaded', mediaType: 'video/mp4' }]]])(
  'success with %j is a refusal',
  async (videos) => {
    const doStatus = async () => ({ status: 'completed', videos, warnings: [], response })
    const provider = packaged({ doStart: async () => ({}), doStatus })
    expect(await provider.poll(ref, soon())).toMatchObject({ kind: 'refused', code: 'upstream_error' })
  },
)

test('images are sent as first and last frame, or as references', async () => {
  const sent: Record<string, unknown>[] = []
  const doStart = async (options: Record<string, unknown>) => {
    sent.push(options)
    return { operation: 'o' }
  }
  const provider = packaged({ doStart, doStatus: async () => ({}) })
  const as = (...roles: ImageRole[]) => roles.map((role, index) => ({ ...imageForTest(`${index}`), role }))
  const frames = as('first_frame', 'last_frame')
  await provider.submit(job('a pier', { references: frames, sound: false }), soon())
  await provider.submit(job('a pier', { references: as('reference', 'reference') }), soon())
  expect(sent).toMatchObject([
    {
      frameImages: [{ frameType: 'first_frame' }, { frameType: 'last_frame' }],
      inputReferences: undefined,
      generateAudio: false,
    },
    { frameImages: undefined, inputReferences: [{ mediaType: 'image/png' }, { mediaType: 'image/png' }] },
  ])
})

test('an error of a package is reported by its name only', async () => {
  const doStart = async () => {
    throw new TypeError('the prompt "a secret pier" is bad')
  }
  const failure = await failureOf(packaged({ doStart, doStatus: doStart }).submit(job('a pier'), soon()))
  expect(failure).toMatchObject({ kind: 'rejected', message: 'the package refused the job: TypeError' })
})

test.each([[null], ['o'], [{ id: 'a' }], [{ model: 'm' }]] as Opaque[][])(
  'the reference %j is refused',
  async (other) => {
    const provider = packaged({ doStart: async () => ({}), doStatus: async () => ({}) })
    expect(await failureOf(provider.poll(other ?? null, soon()))).toMatchObject({ kind: 'rejected' })
  },
)
