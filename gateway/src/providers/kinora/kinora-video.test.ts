import { expect, test } from 'vitest'

import { jobForTest, imageForTest } from '../../../test/kit/job-for-test.ts'
import { failureOf, listenForTest } from '../../../test/kit/listen-for-test.ts'
import type { VideoJob, VideoProvider } from '../port/video.ts'
import { kinoraVideo, type KinoraVideoSettings } from './kinora-video.ts'

const soon = (): AbortSignal => AbortSignal.timeout(120_000)

const job = (changes: Partial<VideoJob> = {}): VideoJob =>
  jobForTest({ model: 'vidB-2', prompt: 'a "cat"', seconds: 10, watermark: true, ...changes })

const connect = (baseUrl: string, changes: Partial<KinoraVideoSettings> = {}): VideoProvider =>
  kinoraVideo({
    ...{ baseUrl, apiKey: 'inner-secret', idempotentSubmits: true, endpoints: 'ask', results: 'link' },
    ...changes,
  })

const both = ['/v1/videos', '/v1/video/create', '/v1/chat/completions']
const createOnly = ['/v1/video/create']
const videosOnly = ['/v1/videos']

/** A gateway that lists the endpoints of its model and records its requests. */
async function listenAsGateway(endpoints: string[] | undefined) {
  const seen: { asked: string; key: unknown; contentType: string; body: string }[] = []
  const server = await listenForTest((request, response, body) => {
    const { 'idempotency-key': key, 'content-type': contentType = '' } = request.headers
    seen.push({ asked: `${request.method} ${request.url}`, key, contentType, body: body.toString() })
    if (request.url?.startsWith('/v1/models/') !== true) response.end('{"id":"inner-1","status":"pending"}')
    else if (endpoints === undefined) response.writeHead(404).end('{"error":{"code":"endpoint_not_found"}}')
    else response.end(JSON.stringify({ id: 'vidB-2', object: 'model', endpoints }))
  })
  return { ...server, seen, asked: () => seen.map(({ asked }) => asked) }
}

/** The fields of a form, its files as their content. */
async function fieldsOf({ contentType, body }: { contentType: string; body: string }) {
  const form = await new Response(body, { headers: { 'content-type': contentType } }).formData()
  const entries = [...form].map(async ([name, value]) => [
    name,
    typeof value === 'string' ? value : await value.text(),
  ])
  return Object.fromEntries(await Promise.all(entries)) as Record<string, string>
}

test('a job that the create endpoint supports goes there, with its images', async () => {
  await using server = await listenAsGateway(both)
  const references = [imageForTest('first'), imageForTest('second')]
  const wanted = job({ references, width: 1080, height: 1920, watermark: false, isPrivate: true })
  const ref = await connect(`${server.url}/v1`).submit(wanted, soon())
  expect(ref).toEqual({ id: 'inner-1', upsamples: true })
  expect(server.asked()).toEqual(['GET /v1/models/vidB-2', 'POST /v1/video/create'])
  expect(server.seen[1]?.key).toBe('task-1')
  expect(JSON.parse(server.seen[1]?.body ?? '')).toEqual({
    model: 'vidB-2',
    prompt: 'a "cat"',
    images: ['data:image/png;base64,Zmlyc3Q=', 'data:image/png;base64,c2Vjb25k'],
    aspect_ratio: '9:16',
    enable_upsample: true,
    enhance_prompt: false,
    orientation: 'portrait',
    size: 'large',
    duration: 10,
    watermark: false,
    private: true,
  })
})

test.each([
  ['it has no image', { references: [] }],
  ['of its length', { seconds: 4 }],
  ['of its frame', { width: 480, height: 480 }],
  ['of its style', { style: 'anime' }],
])(
  'a job that the create endpoint does not support, because %s, goes to /v1/videos',
  async (_why, changes) => {
    await using server = await listenAsGateway(both)
    const wanted = job({ references: [imageForTest('first')], isPrivate: true, ...changes })
    expect(await connect(server.url).submit(wanted, soon())).toEqual({ id: 'inner-1' })
    expect(server.asked()).toEqual(['GET /v1/models/vidB-2', 'POST /v1/videos'])
    expect(await fieldsOf(server.seen[1] ?? { contentType: '', body: '' })).toEqual({
      model: 'vidB-2',
      prompt: 'a "cat"',
      seconds: String(wanted.seconds),
      size: `${wanted.width}x${wanted.height}`,
      watermark: 'true',
      private: 'true',
      ...(wanted.style !== undefined && { style: wanted.style }),
      ...(wanted.references.length > 0 && { input_reference: 'first' }),
    })
  },
)

test.each([
  [createOnly, job(), 'POST /v1/video/create', undefined],
  [undefined, job({ seconds: 4 }), 'POST /v1/video/create', undefined],
  [videosOnly, job({ seconds: 8 }), 'POST /v1/videos', '16x9'],
  [videosOnly, job({ width: 720, height: 1280 }), 'POST /v1/videos', '720x1280'],
])('a model on the endpoints %j', async (endpoints, wanted, asked, size) => {
  await using server = await listenAsGateway(endpoints)
  await connect(server.url).submit(wanted, soon())
  expect(server.asked()[1]).toBe(asked)
  const sent = server.seen[1] ?? { contentType: '', body: '' }
  if (size === undefined) expect(JSON.parse(sent.body)).not.toHaveProperty('images')
  else expect(await fieldsOf(sent)).toMatchObject({ size })
})

test('endpoints are requested once, or not at all', async () => {
  await using server = await listenAsGateway(both)
  const asking = connect(server.url)
  for (const _ of [1, 2]) await asking.submit(job(), soon())
  await connect(server.url, { endpoints: 'create' }).submit(job(), soon())
  expect(server.asked()).toEqual([
    'GET /v1/models/vidB-2',
    'POST /v1/videos',
    'POST /v1/videos',
    'POST /v1/video/create',
  ])
})

test('images are never dropped silently', async () => {
  await using server = await listenAsGateway(videosOnly)
  const wanted = job({ references: [imageForTest('first'), imageForTest('second')] })
  expect(await failureOf(connect(server.url).submit(wanted, soon()))).toMatchObject({ kind: 'rejected' })
  expect(server.asked()).toEqual(['GET /v1/models/vidB-2'])
})

test.each([
  [500, 'not_delivered'],
  [503, 'busy'],
  [401, 'unauthorized'],
])('if the endpoints are unknown because of status %i, nothing is submitted', async (status, kind) => {
  let creates = 0
  await using server = await listenForTest((request, response) => {
    if (request.method === 'POST') creates += 1
    response.writeHead(status).end('{"error":{"code":"internal_error"}}')
  })
  expect(await failureOf(connect(server.url).submit(job(), soon()))).toMatchObject({ kind })
  expect(creates).toBe(0)
})

test('a remix names its source, and its size if the endpoint supports it', async () => {
  await using server = await listenAsGateway(both)
  const provider = connect(server.url)
  const source = { ...imageForTest('never sent'), ref: { id: 'inner/0' } }
  await provider.submit(job({ source, width: 480, height: 480 }), soon())
  await provider.submit(job({ source, width: 1920, height: 1080 }), soon())
  expect(server.asked()).toEqual(['POST /v1/videos/inner%2F0/remix', 'POST /v1/videos/inner%2F0/remix'])
  expect(server.seen.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
    { prompt: 'a "cat"', size: '480x480' },
    { prompt: 'a "cat"' },
  ])
  const foreign = job({ source: { ...source, ref: undefined } })
  expect(await failureOf(provider.submit(foreign, soon()))).toMatchObject({ kind: 'rejected' })
})

test.each([
  [400, 'content_policy_violation', 'moderated', 'content_policy_violation'],
  [400, 'invalid_parameter', 'rejected', 'invalid_parameter'],
  [400, 'missing_parameter', 'rejected', 'invalid_parameter'],
  [400, 'invalid_image', 'rejected', 'invalid_image'],
  [401, 'invalid_api_key', 'unauthorized', 'upstream_error'],
  [402, 'insufficient_balance', 'rejected', 'upstream_error'],
  [402, 'quota_exceeded', 'rejected', 'upstream_error'],
  [403, 'account_suspended', 'unauthorized', 'upstream_error'],
  [403, 'model_access_denied', 'unauthorized', 'upstream_error'],
  [404, 'model_not_found', 'rejected', 'upstream_error'],
  [404, 'task_not_found', 'rejected', 'upstream_error'],
  [409, 'request_in_progress', 'unknown', undefined],
  [410, 'media_expired', 'rejected', 'upstream_error'],
  [429, 'rate_limit_exceeded', 'busy', undefined],
  [503, 'model_overloaded', 'busy', undefined],
  [503, 'service_unavailable', 'busy', undefined],
  [500, 'internal_error', 'unknown', undefined],
  [200, 'content_policy_violation', 'moderated', 'content_policy_violation'],
])('a create with response %i %s is %s, %s', async (status, code, kind, public_) => {
  await using server = await listenForTest((_request, response) => {
    response.writeHead(status, { 'retry-after': '3' }).end(JSON.stringify({ error: { code, message: '…' } }))
  })
  const failure = await failureOf(connect(server.url, { endpoints: 'create' }).submit(job(), soon()))
  expect(failure).toMatchObject({ kind, code: public_ })
  if (kind === 'busy' || status === 409) expect(failure).toMatchObject({ retryAfterMs: 3000 })
})

const running = (progress?: number) => ({ kind: 'running', progress, pollAfterMs: undefined })
const done = { kind: 'done', result: { url: 'https://files.example/a.mp4' } }
const refused = (code: string, message: string) => ({ kind: 'refused', code, message })
const video_url = 'https://files.example/a.mp4'

test.each([
  [{ status: 'pending', video_url: null }, running()],
  [{ status: 'NOT_START', status_update_time: 1_760_000_000_000 }, running()],
  [{ status: 'image_downloading' }, running()],
  [{ status: 'Video_Generating', progress: '40%' }, running(40)],
  [{ status: 'submitted' }, running()],
  [{ status: 'in_progress', progress: 100 }, running(99)],
  [{ status: 'video_upsampling', video_url }, running()],
  [{ status: 'something_new', video_url }, running()],
  [{ status: 'completed', video_url }, done],
  [{ status: 'SUCCESS', video_url }, done],
  [{ status: 'video_generation_completed', video_url }, done],
  [{ status: 'video_upsampling_completed', detail: { video_url } }, done],
  [{ code: 'success', data: { task_id: 'a', status: 'SUCCESS', video_url } }, done],
  [{ status: 'completed', video_url: null }, refused('upstream_error', 'completed without a result URL')],
  [
    { status: 'failed', error: { code: 'content_policy_violation', message: 'No.' } },
    refused('content_policy_violation', 'failed: content_policy_violation: No.'),
  ],
  [
    { status: 'failed', error: { code: 'invalid_image', message: 'Torn.' } },
    refused('invalid_image', 'failed: invalid_image: Torn.'),
  ],
  [
    { status: 'failed', error: { code: 'task_timeout', message: 'Late.' } },
    refused('upstream_error', 'failed: task_timeout: Late.'),
  ],
  [
    { status: 'video_generation_failed', detail: { error: 'Blocked by our content policy.' } },
    refused('content_policy_violation', 'video_generation_failed: Blocked by our content policy.'),
  ],
  [
    { status: 'FAILURE', fail_reason: 'out of luck today' },
    refused('upstream_error', 'failure: out of luck today'),
  ],
  [{ status: 'video_upsampling_failed' }, refused('upstream_error', 'video_upsampling_failed')],
  [{ error: { code: 'task_not_exist' } }, { kind: 'missing' }],
])('a job with the status %j', async (reply, status) => {
  let asked: string | undefined
  await using server = await listenForTest((request, response) => {
    asked = request.url
    response.end(JSON.stringify({ id: 'data' in reply ? undefined : 'a', ...reply }))
  })
  expect(await connect(server.url).poll({ id: 'a&b' }, soon())).toEqual(status)
  expect(asked).toBe('/v1/video/query?id=a%26b')
})

test('a video to be upscaled is not done before that', async () => {
  let status = 'video_generation_completed'
  await using server = await listenForTest((_request, response) =>
    response.end(JSON.stringify({ id: 'a', status, video_url })),
  )
  const ref = { id: 'a', upsamples: true }
  expect(await connect(server.url).poll(ref, soon())).toEqual(running())
  status = 'video_upsampling_completed'
  expect(await connect(server.url).poll(ref, soon())).toEqual(done)
})

test('a video can be downloaded without a link', async () => {
  await using server = await listenForTest((request, response) => {
    if (request.url !== '/v1/videos/a/content') response.end('{"id":"a","status":"completed"}')
    else response.end(request.headers.accept?.startsWith('video/mp4') ? 'bytes' : 'no')
  })
  const provider = connect(server.url, { results: 'bytes' })
  expect(await provider.poll({ id: 'a' }, soon())).toEqual({ kind: 'done', result: null })
  const film = await provider.openResult({ id: 'a' }, null, soon())
  expect(Buffer.concat(await film.toArray()).toString()).toBe('bytes')
})

test('a job is cancelled and discarded by its id, also if it is already gone', async () => {
  const asked: string[] = []
  await using server = await listenForTest((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    response.writeHead(asked.length > 2 ? 404 : 200).end('{}')
  })
  const { cancel, discard } = connect(server.url)
  for (const _ of [1, 2]) {
    await cancel?.({ id: 'a' }, soon())
    await discard?.({ id: 'a' }, soon())
  }
  expect(asked.slice(0, 2)).toEqual(['POST /v1/videos/a/cancel', 'DELETE /v1/videos/a'])
})
