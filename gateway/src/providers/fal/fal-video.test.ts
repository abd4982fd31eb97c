import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { createFalSigner } from '../../../../dev/vendor/fal-signature.ts'
import { startVendor, type Vendor } from '../../../../dev/vendor/vendor.ts'
import { jobForTest, imageForTest } from '../../../test/kit/job-for-test.ts'
import { failureOf, listenForTest } from '../../../test/kit/listen-for-test.ts'
import type { Opaque, VideoJob, VideoJobStatus, VideoProvider } from '../port/video.ts'
import { falVideo, type FalVideoSettings } from './fal-video.ts'
import { usualInput } from './fal.ts'

const soon = (): AbortSignal => AbortSignal.timeout(120_000)

const job = (prompt: string, changes: Partial<VideoJob> = {}): VideoJob =>
  jobForTest({ model: 'maker/film/v2/text-to-video', prompt, seconds: 8, ...changes })

const connect = (baseUrl: string, changes: Partial<FalVideoSettings> = {}): VideoProvider =>
  falVideo({
    baseUrl,
    apiKey: 'vendor-secret',
    input: usualInput,
    inputs: {},
    fixed: {},
    withImage: {},
    jwksUrl: `${baseUrl}/.well-known/jwks.json`,
    userId: '',
    ...changes,
  })

describe('against the simulated vendor', () => {
  let vendor: Vendor
  let provider: VideoProvider

  beforeAll(async () => {
    vendor = await startVendor({ apiKey: 'vendor-secret', durationMs: 40 })
    provider = connect(vendor.url)
  })
  afterAll(() => vendor.close())

  async function ended(ref: Opaque): Promise<VideoJobStatus> {
    let status: VideoJobStatus = { kind: 'missing' }
    await expect
      .poll(async () => (status = await provider.poll(ref, soon())).kind, { interval: 5 })
      .not.toBe('running')
    return status
  }

  test('a video completes', async () => {
    const wanted = job('a cat', { references: [imageForTest('a picture')] })
    const ref = await provider.submit(wanted, soon())
    const known = vendor.jobs().find(({ id }) => id === (ref as { id: string }).id)
    expect(known).toMatchObject({
      kind: 'fal',
      model: 'maker/film/v2/text-to-video',
      seconds: '8',
      size: '1280x720',
      referenceBytes: 9,
    })
    expect(ref).toEqual({ id: known?.id, app: 'maker/film' })
    const never = await provider.submit(job('a cat vendor:never'), soon())
    expect(await provider.poll(never, soon())).toEqual({ kind: 'running', progress: undefined })
    const status = await ended(ref)
    expect(status).toEqual({ kind: 'done', result: { url: expect.stringContaining('/fal-files/') } })
    const { result } = JSON.parse(JSON.stringify(status)) as { result: Opaque }
    const video = Buffer.concat(await (await provider.openResult(ref, result, soon())).toArray())
    const sample = await readFile(new URL('../../../../dev/vendor/sample.mp4', import.meta.url))
    const hashOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')
    expect(hashOf(video)).toBe(hashOf(sample))
  })

  test.each([
    ['vendor:fail=content_policy_violation', 'content_policy_violation'],
    ['vendor:fail=invalid_image', 'invalid_image'],
    ['vendor:fail=invalid_parameter', 'invalid_parameter'],
    ['vendor:fail=server_error', 'upstream_error'],
    ['vendor:fail=generation_timeout', 'upstream_error'],
    ['vendor:nsfw', 'content_policy_violation'],
  ])('%s refuses the job in the end', async (prompt, code) => {
    const ref = await provider.submit(job(`${prompt} vendor:duration=0ms`), soon())
    expect(await provider.poll(ref, soon())).toEqual({ kind: 'refused', code, message: expect.any(String) })
  })

  test.each([
    ['vendor:reject=content_policy_violation', { kind: 'moderated' }],
    ['vendor:reject=invalid_value', { kind: 'rejected', code: 'invalid_parameter' }],
    ['vendor:busy=1', { kind: 'busy', retryAfterMs: 100 }],
    ['vendor:500-then-ok', { kind: 'unknown' }],
    ['vendor:drop-reply', { kind: 'unknown' }],
    ['vendor:garbage', { kind: 'unknown' }],
  ])('%s fails the submit as what it is', async (prompt, failure) => {
    expect(await failureOf(provider.submit(job(prompt), soon()))).toMatchObject(failure)
  })

  test('a job is cancelled; cancelling an ended or unknown job does nothing', async () => {
    const ref = await provider.submit(job('vendor:duration=60000ms'), soon())
    await provider.cancel?.(ref, soon())
    expect(await provider.poll(ref, soon())).toMatchObject({ kind: 'refused', code: 'upstream_error' })
    await provider.cancel?.(ref, soon())
    await provider.cancel?.({ id: 'unknown', app: 'maker/film' }, soon())
  })

  test('an unknown job is missing, and a wrong key is unauthorized', async () => {
    expect(await provider.poll({ id: 'unknown', app: 'maker/film' }, soon())).toEqual({ kind: 'missing' })
    const stranger = connect(vendor.url, { apiKey: 'someone-else' })
    const failure = await failureOf(stranger.submit(job('a cat'), soon()))
    expect(failure).toMatchObject({ kind: 'unauthorized', code: 'upstream_error' })
    const ref = await provider.submit(job('vendor:duration=0ms'), soon())
    expect(await failureOf(stranger.poll(ref, soon()))).toMatchObject({ kind: 'unauthorized' })
  })

  test('a webhook is read and refers to the submitted job', async () => {
    const { promise: brought, resolve } =
      Promise.withResolvers<Parameters<NonNullable<VideoProvider['readWebhook']>>[0]>()
    await using listener = await listenForTest((request, response, body) => {
      const query = new URL(request.url ?? '/', 'http://listener').searchParams
      expect(query.get('signature')).toBe('a+b')
      resolve({ headers: request.headers, note: query.get('note') ?? undefined, body })
      response.end()
    })
    const webhookUrl = `${listener.url}/webhooks/fal/task-1?key=k&signature=a%2Bb`
    const ref = await provider.submit(job('vendor:webhook=bare vendor:duration=0ms', { webhookUrl }), soon())
    const delivery = await brought
    expect(delivery.note).toBe('maker/film')
    const event = await provider.readWebhook?.(delivery, soon())
    expect(event).toEqual({ ref, id: (ref as { id: string }).id })
    const forged = { ...delivery, body: Buffer.from(`${delivery.body.toString()} `) }
    expect(await failureOf(Promise.resolve(provider.readWebhook?.(forged, soon())))).toMatchObject({
      kind: 'rejected',
    })
  })
})

test('the submit has the fields of the protocol and of the model', async () => {
  const seen: unknown[] = []
  await using server = await listenForTest((request, response, body) => {
    const { authorization, 'x-fal-no-retry': noRetry, 'content-length': length } = request.headers
    expect(length).toBe(String(body.length))
    seen.push([request.method, request.url, authorization, noRetry, JSON.parse(body.toString())])
    response.end('{"request_id":"r1","status":"IN_QUEUE"}')
  })
  const provider = connect(server.url, {
    inputs: {
      'maker/still': {
        text: 'prompt',
        seconds: 'seconds-number',
        length: 'seconds-unit',
        video_size: 'size-object',
        wide: 'width',
        high: 'height',
        exact: 'size',
        look: 'style',
        start: 'image',
        end: 'last-image',
        refs: 'images',
      },
    },
    fixed: { generate_audio: false },
    withImage: { 'maker/film': 'maker/still' },
  })
  const references = [imageForTest('one'), imageForTest('three')]
  const ref = await provider.submit(job('a cat', { model: 'maker/film', references, style: 'noir' }), soon())
  expect(ref).toEqual({ id: 'r1', app: 'maker/still' })
  await provider.submit(
    job('a "cat"', { width: 1024, height: 1792, webhookUrl: 'https://us.example/webhooks?a=1' }),
    soon(),
  )
  const uri = (text: string) => `data:image/png;base64,${Buffer.from(text).toString('base64')}`
  expect(seen).toEqual([
    [
      'POST',
      '/maker/still',
      'Key vendor-secret',
      '1',
      {
        generate_audio: false,
        text: 'a cat',
        seconds: 8,
        length: '8s',
        video_size: { width: 1280, height: 720 },
        wide: 1280,
        high: 720,
        exact: '1280x720',
        look: 'noir',
        start: uri('one'),
        end: uri('three'),
        refs: [uri('one'), uri('three')],
      },
    ],
    [
      'POST',
      `/maker/film/v2/text-to-video?fal_webhook=${encodeURIComponent('https://us.example/webhooks?a=1&note=maker%2Ffilm')}`,
      'Key vendor-secret',
      '1',
      { generate_audio: false, prompt: 'a "cat"', duration: '8', aspect_ratio: '9:16', resolution: '1080p' },
    ],
  ])
})

test('an unsupported job is refused before anything is sent', async () => {
  const provider = connect('http://127.0.0.1:9')
  const tooMany = job('a cat', { references: [imageForTest('one'), imageForTest('two')] })
  expect(await failureOf(provider.submit(tooMany, soon()))).toMatchObject({
    kind: 'rejected',
    code: 'invalid_image',
  })
  const remix = job('a cat', { source: { ...imageForTest('film'), ref: undefined } })
  expect(provider.canRemix).toBe(false)
  expect(await failureOf(provider.submit(remix, soon()))).toMatchObject({ kind: 'rejected' })
  for (const model of ['film', '../admin', 'maker/../x', 'maker/film?x=1', '']) {
    expect(await failureOf(provider.submit(job('a cat', { model }), soon()))).toMatchObject({
      kind: 'rejected',
    })
  }
})

test.each([
  ['its own', (url: string) => `${url}/base/other/name/requests/r1/status`, 'other/name'],
  ["somebody else's", () => 'https://evil.example/base/other/name/requests/r1/status', 'maker/film'],
  ['outside its base', (url: string) => `${url}/other/name/requests/r1/status`, 'maker/film'],
  ["another job's", (url: string) => `${url}/base/other/name/requests/r2/status`, 'maker/film'],
  ['hidden', (url: string) => `${url}/base/other/../../x/requests/r1/status`, 'maker/film'],
])('the status URL of a job is used if it is %s', async (_, statusUrl, app) => {
  await using server = await listenForTest((request, response) => {
    const url = `http://${request.headers.host}`
    response.end(JSON.stringify({ request_id: 'r1', status_url: statusUrl(url) }))
  })
  expect(await connect(`${server.url}/base/`).submit(job('a cat'), soon())).toEqual({ id: 'r1', app })
})

test.each(['{}', '[]', '', '{"request_id":".."}', '{"request_id":"a/b"}', '{"request_id":{}}'])(
  'a submit that returns %s has an unknown outcome',
  async (reply) => {
    await using server = await listenForTest((_request, response) => response.end(reply))
    expect(await failureOf(connect(server.url).submit(job('a cat'), soon()))).toMatchObject({
      kind: 'unknown',
    })
  },
)

const done = { status: 'COMPLETED' }
const running = { kind: 'running', progress: undefined }
const refused = (code: string, message = expect.any(String) as string) => ({ kind: 'refused', code, message })

test.each<[object, number, unknown, object]>([
  [{ status: 'IN_QUEUE', queue_position: 3 }, 200, {}, running],
  [{ status: 'in_progress', logs: null }, 200, {}, running],
  [{ status: 'RESTARTING' }, 200, {}, running],
  [done, 400, { detail: 'Request is still in progress' }, running],
  [done, 200, { video: { url: 'https://f/1' } }, { kind: 'done', result: { url: 'https://f/1' } }],
  [done, 200, { videos: [{ url: 'https://f/2' }] }, { kind: 'done', result: { url: 'https://f/2' } }],
  [done, 200, { response: { video: 'https://f/3' } }, { kind: 'done', result: { url: 'https://f/3' } }],
  [done, 200, { output: { video_url: 'https://f/4' } }, { kind: 'done', result: { url: 'https://f/4' } }],
  [done, 200, { video: { url: 'file:///etc/passwd' } }, refused('upstream_error')],
  [done, 200, {}, refused('upstream_error', 'completed without a video')],
  [
    done,
    200,
    { has_nsfw_concepts: [false, true], video: { url: 'https://f/1' } },
    refused('content_policy_violation'),
  ],
  [
    done,
    200,
    { has_nsfw_concepts: [false], video: { url: 'https://f/1' } },
    { kind: 'done', result: { url: 'https://f/1' } },
  ],
  [done, 200, { error: 'NSFW content: violates our content policy' }, refused('content_policy_violation')],
  [done, 404, { detail: 'Not Found' }, { kind: 'missing' }],
  [
    { ...done, error: 'Runner was lost', error_type: 'runner_disconnected' },
    502,
    {},
    refused('upstream_error'),
  ],
  [{ ...done, error: 'x', error_type: 'runner_disconnected' }, 404, {}, refused('upstream_error')],
  [
    done,
    422,
    { detail: [{ loc: ['body', 'prompt'], msg: 'see https://h/?k=1', type: 'content_policy_violation' }] },
    refused('content_policy_violation', 'failed: content_policy_violation: see [url]'),
  ],
  [
    done,
    422,
    { detail: [{ loc: ['body', 'image_url'], msg: 'no', type: 'image_load_error' }] },
    refused('invalid_image'),
  ],
  [
    done,
    422,
    { detail: [{ loc: ['body', 'duration'], msg: 'no', type: 'literal_error' }] },
    refused('invalid_parameter'),
  ],
  [done, 422, { detail: [{ loc: ['body'], msg: 'no', type: 'odd' }] }, refused('upstream_error')],
  [
    done,
    422,
    { detail: [{ loc: ['body', 'prompt'], msg: 'no', type: 'downstream_service_error' }] },
    refused('upstream_error'),
  ],
  [done, 400, { detail: 'That went wrong' }, refused('upstream_error', 'failed: That went wrong')],
])('%j with a result of %i %j', async (status, code, result, expected) => {
  await using server = await listenForTest((request, response) => {
    const isStatus = request.url?.endsWith('/status') === true
    response.writeHead(isStatus ? 200 : code).end(JSON.stringify(isStatus ? status : result))
  })
  expect(await connect(server.url).poll({ id: 'r1', app: 'maker/film' }, soon())).toEqual(expected)
})

test.each([401, 403, 429, 500, 503])('a result with status %i does not end the job', async (code) => {
  await using server = await listenForTest((request, response) => {
    const isStatus = request.url?.endsWith('/status') === true
    response.writeHead(isStatus ? 200 : code).end(JSON.stringify(isStatus ? done : {}))
  })
  const poll = connect(server.url).poll({ id: 'r1', app: 'maker/film' }, soon())
  expect(await failureOf(poll)).toMatchObject({ name: 'ProviderFailure' })
})

test('a foreign reference is a failure and never part of a URL', async () => {
  const provider = connect('http://127.0.0.1:9')
  for (const ref of [
    null,
    'a',
    { id: 'a' },
    { id: '..', app: 'a/b' },
    { id: 'a', app: '../b' },
    { id: 'a', app: 'b' },
  ]) {
    expect(await failureOf(provider.poll(ref, soon()))).toMatchObject({ kind: 'rejected' })
  }
  expect(await failureOf(provider.openResult({ id: 'a', app: 'a/b' }, null, soon()))).toMatchObject({
    kind: 'rejected',
  })
})

test('two references with the same id are of the same job', () => {
  const { isSameJob } = connect('http://127.0.0.1:9')
  expect(isSameJob?.({ id: 'a', app: 'x/y' }, { id: 'a', app: 'x/z' })).toBe(true)
  expect(isSameJob?.({ id: 'a', app: 'x/y' }, { id: 'b', app: 'x/y' })).toBe(false)
})

test('a verified webhook without a model in its URL is rejected', async () => {
  const signer = createFalSigner()
  await using server = await listenForTest((_request, response) =>
    response.end(JSON.stringify(signer.jwks())),
  )
  const body = Buffer.from('{"request_id":"r1"}')
  const headers = signer.headersOf(body, { requestId: 'r1' })
  const provider = connect(server.url)
  const read = async (note?: string) => provider.readWebhook?.({ headers, note, body }, soon())
  expect(await read('maker/film')).toEqual({ ref: { id: 'r1', app: 'maker/film' }, id: 'r1' })
  for (const note of [undefined, '', '../x', 'film']) {
    expect(await failureOf(read(note))).toMatchObject({ kind: 'rejected' })
  }
})
