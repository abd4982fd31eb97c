import { createHash, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { startVendor, type Vendor } from '../../../../dev/vendor/vendor.ts'
import { jobForTest, imageForTest } from '../../../test/kit/job-for-test.ts'
import { failureOf, listenForTest } from '../../../test/kit/listen-for-test.ts'
import type { Opaque, VideoJob, VideoProvider } from '../port/video.ts'
import { geminiVideo, type GeminiVideoSettings } from './gemini-video.ts'

const soon = (): AbortSignal => AbortSignal.timeout(120_000)
const apiKey = 'vendor-secret'

const job = (prompt: string, changes: Partial<VideoJob> = {}): VideoJob =>
  jobForTest({ model: 'veo-3', prompt, seconds: 8, ...changes })

const connect = (baseUrl: string, changes: Partial<GeminiVideoSettings> = {}): VideoProvider =>
  geminiVideo({ baseUrl, apiKey, api: 'developer', location: 'here', ...changes })

const enterprise = { api: 'enterprise', project: 'ours' } as const

describe('against the simulated vendor', () => {
  let vendor: Vendor
  beforeAll(async () => {
    vendor = await startVendor({ apiKey, durationMs: 30 })
  })
  afterAll(() => vendor.close())

  const ended = async (provider: VideoProvider, ref: Opaque) => {
    await expect
      .poll(async () => (await provider.poll(ref, soon())).kind, { interval: 10 })
      .not.toBe('running')
    return provider.poll(ref, soon())
  }

  test.each([
    ['developer', '/v1beta', {}, { uri: expect.stringContaining('/v1beta/files/') }],
    ['enterprise', '/v1', enterprise, { inline: true }],
  ])('a video goes all the way through the %s API', async (_, path, settings, result) => {
    const provider = connect(`${vendor.url}${path}`, settings)
    const references = [imageForTest('first'), imageForTest('second')]
    const ref = await provider.submit(job('a cat vendor:never', { references }), soon())
    expect(vendor.jobs().at(-1)).toMatchObject({
      kind: 'gemini',
      model: 'veo-3',
      seconds: '8',
      size: '16:9 720p',
      referenceBytes: 11,
    })
    expect(await provider.poll(ref, soon())).toEqual({ kind: 'running', progress: undefined })
    vendor.release(0)
    const status = await ended(provider, ref)
    expect(status).toEqual({ kind: 'done', result })
    const finished = status.kind === 'done' ? status.result : null
    const video = Buffer.concat(await (await provider.openResult(ref, finished, soon())).toArray())
    const sample = await readFile(new URL('../../../../dev/vendor/sample.mp4', import.meta.url))
    expect(video.equals(sample)).toBe(true)
  })

  test.each([
    ['vendor:fail=content_policy_violation', 'content_policy_violation'],
    ['vendor:fail=invalid_value', 'invalid_parameter'],
    ['vendor:fail=invalid_image', 'invalid_image'],
    ['vendor:fail', 'upstream_error'],
  ])('%s is refused as %s by both APIs', async (prompt, code) => {
    for (const settings of [{}, enterprise]) {
      const provider = connect(vendor.url, settings)
      const ref = await provider.submit(job(prompt), soon())
      expect(await ended(provider, ref)).toMatchObject({ kind: 'refused', code })
    }
  })

  test.each([
    ['vendor:reject=content_policy_violation', 'moderated', 'content_policy_violation'],
    ['vendor:reject=invalid_value', 'rejected', 'invalid_parameter'],
    ['vendor:reject=invalid_image', 'rejected', 'invalid_image'],
    ['vendor:reject=region_not_supported', 'rejected', 'upstream_error'],
    ['vendor:busy', 'busy', undefined],
    ['vendor:500-then-ok', 'unknown', undefined],
    ['vendor:drop-reply', 'unknown', undefined],
  ])('%s is %s', async (prompt, kind, code) => {
    const failure = await failureOf(connect(vendor.url).submit(job(prompt), soon()))
    expect(failure).toMatchObject({ name: 'ProviderFailure', kind, code })
  })

  test('an unknown job is missing, and no reference leads to another path', async () => {
    const name = 'models/veo-3/operations/none'
    expect(await connect(vendor.url).poll({ name }, soon())).toEqual({ kind: 'missing' })
    const place = 'projects/ours/locations/here/publishers/google'
    const there = connect(vendor.url, enterprise)
    expect(await there.poll({ name: `${place}/${name}` }, soon())).toEqual({ kind: 'missing' })
    for (const ref of [null, { id: 'x' }, { name: 'models/../files' }, { name: 'a/?b' }, { name: '//x' }]) {
      for (const provider of [connect(vendor.url), there]) {
        expect(await failureOf(provider.poll(ref, soon()))).toMatchObject({ kind: 'rejected' })
      }
    }
    expect(await failureOf(there.poll({ name }, soon()))).toMatchObject({ kind: 'rejected' })
  })

  test('a wrong key is unauthorized', async () => {
    const provider = connect(vendor.url, { apiKey: 'another' })
    const failure = { kind: 'unauthorized', code: 'upstream_error' }
    expect(await failureOf(provider.submit(job('a cat'), soon()))).toMatchObject(failure)
  })
})

/** A vendor with a constant response that records its requests. */
const vendorSaying = async (answer: unknown, status = 200) => {
  const asked: { path: string; headers: Record<string, unknown>; body: string }[] = []
  const server = await listenForTest((request, response, body) => {
    asked.push({ path: request.url ?? '', headers: request.headers, body: body.toString() })
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  return { ...server, asked, bodies: () => asked.map(({ body }) => JSON.parse(body) as unknown) }
}

describe('the request', () => {
  const image = (content: string, mimeType = 'image/png') => ({
    bytesBase64Encoded: Buffer.from(content).toString('base64'),
    mimeType,
  })
  const asset = (content: string) => ({ image: image(content), referenceType: 'asset' })
  const [one, two] = [imageForTest('one'), imageForTest('two')]
  const characters = [{ username: 'anna', image: imageForTest('face') }]

  test.each<[string, Partial<VideoJob>, object]>([
    ['no image', {}, {}],
    [
      'one to begin with',
      { references: [imageForTest('one', 'image/jpeg')] },
      { image: image('one', 'image/jpeg') },
    ],
    [
      'two to go between',
      {
        references: [
          { ...two, role: 'last_frame' },
          { ...one, role: 'first_frame' },
        ],
      },
      { image: image('one'), lastFrame: image('two') },
    ],
    [
      'one to begin with',
      { references: [{ ...one, role: 'first_frame' }], characters },
      { image: image('one') },
    ],
    ['components', { references: [{ ...one, role: 'reference' }] }, { referenceImages: [asset('one')] }],
    [
      'several that lend their look',
      { references: [one, two] },
      { referenceImages: [asset('one'), asset('two')] },
    ],
    ['characters', { characters }, { referenceImages: [asset('face')] }],
  ])('%s', async (_, changes, sent) => {
    await using vendor = await vendorSaying({ name: 'models/veo-3/operations/1' })
    expect(await connect(vendor.url).submit(job('a cat', changes), soon())).toEqual({
      name: 'models/veo-3/operations/1',
    })
    expect(vendor.bodies()).toEqual([
      {
        instances: [{ prompt: 'a cat', ...sent }],
        parameters: { sampleCount: 1, durationSeconds: 8, aspectRatio: '16:9', resolution: '720p' },
      },
    ])
    expect(vendor.asked).toMatchObject([
      {
        path: '/v1beta/models/veo-3:predictLongRunning',
        headers: { 'x-goog-api-key': apiKey },
      },
    ])
    expect(vendor.asked[0]?.headers).not.toHaveProperty('authorization')
  })

  test('has sizes, and fields that only one of the APIs accepts', async () => {
    await using vendor = await vendorSaying({ name: 'projects/x' })
    const settings = { generateAudio: false, personGeneration: 'allow_adult' }
    const tall = job('a cat', { width: 1080, height: 1920 })
    const wide = job('a cat', { width: 3840, height: 2160, model: 'models/veo-3' })
    await connect(vendor.url, settings).submit(tall, soon())
    await connect(vendor.url, { ...settings, ...enterprise }).submit(wide, soon())
    await connect(vendor.url, { ...settings, ...enterprise }).submit({ ...wide, sound: true }, soon())
    const [first, second, third] = vendor.bodies() as { parameters: object }[]
    const common = { sampleCount: 1, durationSeconds: 8, personGeneration: 'allow_adult' }
    expect(first?.parameters).toEqual({ ...common, aspectRatio: '9:16', resolution: '1080p' })
    expect(second?.parameters).toEqual({
      ...common,
      aspectRatio: '16:9',
      resolution: '4k',
      generateAudio: false,
    })
    expect(third?.parameters).toMatchObject({ generateAudio: true })
    expect(vendor.asked[1]).toMatchObject({
      path: '/v1/projects/ours/locations/here/publishers/google/models/veo-3:predictLongRunning',
      headers: { authorization: `Bearer ${apiKey}` },
    })
  })

  test('is not sent if it could only be refused', async () => {
    await using vendor = await vendorSaying({ name: 'x' })
    const refused = (changes: Partial<VideoJob>, settings: Partial<GeminiVideoSettings> = {}) =>
      failureOf(connect(vendor.url, settings).submit(job('a cat', changes), soon()))
    const source = { ...one, ref: undefined }
    expect(await refused({ source })).toMatchObject({ kind: 'rejected', code: 'upstream_error' })
    const frame = { ...one, role: 'first_frame' as const }
    for (const references of [
      [frame, two],
      [frame, { ...two, role: 'last_frame' as const }, two],
    ]) {
      expect(await refused({ references })).toMatchObject({ kind: 'rejected', code: 'invalid_image' })
    }
    expect(await refused({}, { api: 'enterprise' })).toMatchObject({
      kind: 'rejected',
      message: expect.stringContaining('set project'),
    })
    expect(vendor.asked).toEqual([])
  })

  test('has a large image completely', async () => {
    const size = 3 * 1024 * 1024
    let received = 0
    await using vendor = await listenForTest((_request, response, body) => {
      const { instances } = JSON.parse(body.toString()) as {
        instances: { image: { bytesBase64Encoded: string } }[]
      }
      received = Buffer.from(instances[0]?.image.bytesBase64Encoded ?? '', 'base64').length
      response.end(JSON.stringify({ name: 'models/veo-3/operations/1' }))
    })
    const large = {
      role: 'style' as const,
      contentType: 'image/png',
      sizeBytes: size,
      open: async () => Readable.from(chunks(size, Buffer.alloc(64 * 1024, 7)), { objectMode: false }),
    }
    await connect(vendor.url).submit(job('a cat', { references: [large] }), soon())
    expect(received).toBe(size)
  })
})

describe('the response', () => {
  const done = (response: unknown) => ({ name: 'models/veo-3/operations/1', done: true, response })
  const ref = { name: 'models/veo-3/operations/1' }
  const inGenerated = (more: object) => done({ generateVideoResponse: more })
  const uri = 'https://files.example/v.mp4'
  const text = Buffer.from('a film').toString('base64')

  test.each<[string, unknown, object]>([
    ['an operation without a word', { name: 'x' }, { kind: 'running', progress: undefined }],
    ['not done', { done: false }, { kind: 'running', progress: undefined }],
    ['a sample', inGenerated({ generatedSamples: [{ video: { uri } }] }), { kind: 'done', result: { uri } }],
    [
      'a sample by its other name',
      done({ generatedVideos: [{ video: { uri } }] }),
      { kind: 'done', result: { uri } },
    ],
    [
      'a sample beside filtered ones',
      inGenerated({ generatedSamples: [{ video: { uri } }], raiMediaFilteredCount: 1 }),
      { kind: 'done', result: { uri } },
    ],
    [
      'a video in the answer',
      done({ videos: [{ bytesBase64Encoded: text }] }),
      { kind: 'done', result: { inline: true } },
    ],
    [
      'a sample in the answer',
      inGenerated({ generatedSamples: [{ video: { encodedVideo: text } }] }),
      { kind: 'done', result: { inline: true } },
    ],
    ['an old answer', done({ bytesBase64Encoded: text }), { kind: 'done', result: { inline: true } }],
    ['another old answer', done({ video: text }), { kind: 'done', result: { inline: true } }],
    [
      'a video in a bucket',
      done({ videos: [{ gcsUri: 'gs://bucket/v.mp4' }] }),
      { kind: 'refused', code: 'upstream_error', message: expect.stringContaining('bucket') },
    ],
    [
      'filtered inside',
      inGenerated({ raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['Not this.'] }),
      { kind: 'refused', code: 'content_policy_violation', message: 'the video was filtered out: Not this.' },
    ],
    [
      'filtered outside',
      done({ raiMediaFilteredCount: '1', videos: [] }),
      {
        kind: 'refused',
        code: 'content_policy_violation',
        message: 'the video was filtered out: no reason given',
      },
    ],
    [
      'nothing',
      done({}),
      { kind: 'refused', code: 'upstream_error', message: 'it is done, and there is no video' },
    ],
    [
      'done and nothing else',
      { done: true },
      { kind: 'refused', code: 'upstream_error', message: 'it is done, and there is no video' },
    ],
    [
      'an error although done',
      {
        done: true,
        error: { code: 3, message: "It violates Google's Responsible AI practices." },
        response: { videos: [{ uri }] },
      },
      { kind: 'refused', code: 'content_policy_violation', message: expect.any(String) },
    ],
  ])('%s', async (_, answer, status) => {
    await using vendor = await vendorSaying(answer)
    expect(await connect(vendor.url).poll(ref, soon())).toEqual(status)
  })

  test.each([
    ['no operation', { hello: 1 }, 200, 'unknown'],
    ['a list', [1], 200, 'unknown'],
    ['a failing vendor', { error: { code: 500, status: 'INTERNAL' } }, 500, 'unknown'],
    [
      'a busy vendor',
      { error: { code: 429, status: 'RESOURCE_EXHAUSTED', details: [{ retryDelay: '7.5s' }] } },
      429,
      'busy',
    ],
  ])('%s is not a status of the job', async (_, answer, status, kind) => {
    await using vendor = await vendorSaying(answer, status)
    const retryAfterMs = kind === 'busy' ? 7500 : undefined
    expect(await failureOf(connect(vendor.url).poll(ref, soon()))).toMatchObject({ kind, retryAfterMs })
  })

  test.each([
    ['INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', 'unauthorized', 'upstream_error'],
    ['INVALID_ARGUMENT', 'durationSeconds must be 4, 6 or 8.', 'rejected', 'invalid_parameter'],
    ['NOT_FOUND', 'models/veo-3 is not found.', 'rejected', 'upstream_error'],
  ])('%s: %s', async (status, message, kind, code) => {
    await using vendor = await vendorSaying({ error: { code: 400, status, message } }, 400)
    const failure = await failureOf(connect(vendor.url).submit(job('a cat'), soon()))
    expect(failure).toMatchObject({ kind, code })
  })

  test('of a submit in another form leaves the outcome unknown', async () => {
    await using vendor = await vendorSaying({ ok: true })
    expect(await failureOf(connect(vendor.url).submit(job('a cat'), soon()))).toMatchObject({
      kind: 'unknown',
    })
  })
})

describe('a result', () => {
  const ref = { name: 'models/veo-3/operations/1' }

  test('is downloaded with the key in a header, only at the vendor', async () => {
    await using elsewhere = await vendorSaying('a film')
    await using vendor = await vendorSaying('a film')
    const provider = connect(vendor.url, { resultOrigins: [elsewhere.url] })
    for (const { url, asked } of [vendor, elsewhere]) {
      const stream = await provider
        .openResult(ref, { uri: `${url}/v1beta/files/1:download?alt=media` }, soon())
        .catch((error: unknown) => error)
      // The JSON response is refused as a video, which does not matter here.
      expect(stream).toMatchObject({ kind: 'unknown' })
      expect(asked.map(({ path }) => path)).toEqual(['/v1beta/files/1:download?alt=media'])
    }
    expect(vendor.asked[0]?.headers).toMatchObject({ 'x-goog-api-key': apiKey })
    expect(JSON.stringify(elsewhere.asked)).not.toContain(apiKey)
  })

  test.each([
    ['broken off', '{"done":true,"response":{"videos":[{"bytesBase64Encoded":"AAAA', 'unknown'],
    ['no base64', '{"done":true,"response":{"videos":[{"bytesBase64Encoded":"?!"}]}}', 'unknown'],
    ['nothing', '{"done":true,"response":{}}', 'rejected'],
  ])('in an answer that is %s is an error of the stream', async (_, answer, kind) => {
    await using vendor = await listenForTest((_request, response) => void response.end(answer))
    const stream = await connect(vendor.url).openResult(ref, { inline: true }, soon())
    expect(await failureOf(stream.toArray())).toMatchObject({ name: 'ProviderFailure', kind })
  })

  test('of 40 MB inside a response is streamed unchanged with bounded memory', async () => {
    const size = 30 * 1024 * 1024
    const block = randomBytes(96 * 1024)
    const sent = createHash('sha256')
    for (const chunk of chunks(size, block)) sent.update(chunk)
    let writtenBytes = 0
    await using vendor = await listenForTest((_request, response) => {
      writtenBytes = 0
      void writeSlowly(response, chunks(size, block), (count) => (writtenBytes += count))
    })
    const provider = connect(vendor.url)
    const before = await liveBytes()

    expect(await provider.poll(ref, soon())).toEqual({ kind: 'done', result: { inline: true } })
    // Only the buffers of the connection have been filled by then.
    expect(writtenBytes).toBeLessThan(8 * 1024 * 1024)

    const video = await provider.openResult(ref, { inline: true }, AbortSignal.timeout(120_000))
    const received = createHash('sha256')
    let [receivedBytes, lookedAt, peak] = [0, 0, 0]
    for await (const chunk of video as AsyncIterable<Buffer>) {
      received.update(chunk)
      receivedBytes += chunk.length
      if (receivedBytes - lookedAt > 8 * 1024 * 1024) {
        lookedAt = receivedBytes
        peak = Math.max(peak, await liveBytes())
      }
    }
    expect(receivedBytes).toBe(size)
    expect(received.digest('hex')).toBe(sent.digest('hex'))
    expect(peak - before).toBeLessThan(8 * 1024 * 1024)
  })

  test('that is no longer read is no longer sent', async () => {
    let hasEnded = false
    await using vendor = await listenForTest((_request, response) => {
      response.on('close', () => (hasEnded = true))
      response.write('{"done":true,"response":{"videos":[{"bytesBase64Encoded":"AAAABBBB')
    })
    const video = await connect(vendor.url).openResult(ref, { inline: true }, soon())
    await new Promise((resolve) => video.once('readable', resolve))
    video.destroy()
    await expect.poll(() => hasEnded).toBe(true)
  })
})

function* chunks(size: number, block: Buffer): Generator<Buffer> {
  for (let left = size; left > 0; left -= block.length) yield block.subarray(0, Math.min(left, block.length))
}

/** Writes an operation with an inline video, with backpressure. */
async function writeSlowly(
  response: ServerResponse,
  video: Iterable<Buffer>,
  count: (bytes: number) => void,
): Promise<void> {
  async function* text() {
    yield '{"name":"models/veo-3/operations/1","done":true,"response":{"videos":[{"bytesBase64Encoded":"'
    for (const chunk of video) {
      count(chunk.length)
      yield chunk.toString('base64')
    }
    yield '","mimeType":"video/mp4"}]}}'
  }
  await pipeline(Readable.from(text(), { objectMode: false }), response).catch(() => undefined)
}

/** Memory in use after garbage collection, which also continues in the background. */
const liveBytes = async (): Promise<number> => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  let least = Infinity
  for (let look = 0; look < 3; look += 1) {
    collect()
    await setImmediate()
    const { heapUsed, external } = process.memoryUsage()
    least = Math.min(least, heapUsed + external)
  }
  return least
}
