import { setTimeout as wait } from 'node:timers/promises'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { startVendor, type Vendor } from '../../../../dev/vendor/vendor.ts'
import { jobForTest, imageForTest } from '../../../test/kit/job-for-test.ts'
import { failureOf, listenForTest } from '../../../test/kit/listen-for-test.ts'
import type { Opaque, VideoJob, VideoJobStatus, VideoProvider } from '../port/video.ts'
import { openAiVideo, type OpenAiVideoSettings } from './openai-video.ts'

const soon = (): AbortSignal => AbortSignal.timeout(120_000)

let tasks = 0
const job = (prompt: string, changes: Partial<VideoJob> = {}): VideoJob =>
  jobForTest({ taskId: `task-${(tasks += 1)}`, prompt, ...changes })

const connect = (baseUrl: string, changes: Partial<OpenAiVideoSettings> = {}): VideoProvider =>
  openAiVideo({ baseUrl, apiKey: 'vendor-secret', idempotentSubmits: true, ...changes })

describe('against the simulated vendor', () => {
  let vendor: Vendor
  let provider: VideoProvider

  beforeAll(async () => {
    vendor = await startVendor({ apiKey: 'vendor-secret', durationMs: 40 })
    provider = connect(vendor.url)
  })
  afterAll(() => vendor.close())

  const jobsOf = (taskId: string) => vendor.jobs().filter((known) => known.idempotencyKey === taskId)

  async function ended(ref: Opaque): Promise<VideoJobStatus> {
    for (;;) {
      const status = await provider.poll(ref, soon())
      if (status.kind !== 'running') return status
      await wait(10)
    }
  }

  test('a video completes', async () => {
    const wanted = job('a cat vendor:never vendor:duration=200ms', {
      references: [imageForTest('first'), imageForTest('second')],
    })
    const ref = await provider.submit(wanted, soon())
    expect(jobsOf(wanted.taskId)).toEqual([
      expect.objectContaining({
        model: 'maker-2',
        seconds: '4',
        size: '1280x720',
        referenceBytes: 11,
        submits: 1,
      }),
    ])
    expect(await provider.poll(ref, soon())).toEqual({
      kind: 'running',
      progress: expect.any(Number),
      pollAfterMs: 40,
    })
    vendor.release(0)
    expect(await ended(ref)).toEqual({ kind: 'done', result: null })
    const video = Buffer.concat(await (await provider.openResult(ref, null, soon())).toArray())
    expect(video.subarray(4, 8).toString()).toBe('ftyp')
    expect(video.length).toBeGreaterThan(10_000)
    await provider.discard?.(ref, soon())
    await provider.discard?.(ref, soon())
    expect(await provider.poll(ref, soon())).toEqual({ kind: 'missing' })
  })

  test('submitting the same task twice creates one job', async () => {
    const wanted = job('a cat')
    expect(await provider.submit(wanted, soon())).toEqual(await provider.submit(wanted, soon()))
    expect(jobsOf(wanted.taskId)).toMatchObject([{ submits: 2 }])
  })

  test('a remix names the job that made its source', async () => {
    const first = job('a cat vendor:duration=0ms', { model: 'maker-2', seconds: 8, width: 720, height: 1280 })
    const ref = await provider.submit(first, soon())
    expect(await ended(ref)).toMatchObject({ kind: 'done' })
    const source = { ...imageForTest('never sent'), ref }
    const wanted = job('at night', {
      source,
      characters: [{ username: 'anna', image: imageForTest('face') }],
    })
    const remix = await provider.submit(wanted, soon())
    expect(await provider.submit(wanted, soon())).toEqual(remix)
    expect(jobsOf(wanted.taskId)).toEqual([
      expect.objectContaining({
        prompt: 'at night',
        remixOf: jobsOf(first.taskId)[0]?.id,
        seconds: '8',
        size: '720x1280',
        referenceBytes: 0,
      }),
    ])
    expect(await ended(remix)).toEqual({ kind: 'done', result: null })
  })

  test('a source of another provider, or a deleted one, cannot be remixed', async () => {
    expect(provider.canRemix).toBe(true)
    const foreign = job('at night', { source: { ...imageForTest('film'), ref: undefined } })
    expect(await failureOf(provider.submit(foreign, soon()))).toMatchObject({
      kind: 'rejected',
      code: 'upstream_error',
    })
    const gone = job('at night', { source: { ...imageForTest('film'), ref: { id: 'video_gone' } } })
    expect(await failureOf(provider.submit(gone, soon()))).toMatchObject({ kind: 'rejected' })
    expect([...jobsOf(foreign.taskId), ...jobsOf(gone.taskId)]).toEqual([])
  })

  test.each([
    ['vendor:drop-reply', { kind: 'unknown' }, 1],
    ['vendor:garbage', { kind: 'unknown' }, 1],
    ['vendor:500-then-ok', { kind: 'unknown' }, 0],
    ['vendor:busy=1', { kind: 'busy', retryAfterMs: 100 }, 0],
  ])('%s, then a second try finds the one job', async (prompt, failure, accepted) => {
    const wanted = job(prompt)
    expect(await failureOf(provider.submit(wanted, soon()))).toMatchObject(failure)
    expect(jobsOf(wanted.taskId)).toHaveLength(accepted)
    expect(await provider.submit(wanted, soon())).toEqual({ id: jobsOf(wanted.taskId)[0]?.id })
    expect(jobsOf(wanted.taskId)).toHaveLength(1)
  })

  test('vendor:busy=2 is busy twice', async () => {
    const wanted = job('vendor:busy=2')
    for (const _ of [1, 2])
      expect(await failureOf(provider.submit(wanted, soon()))).toMatchObject({ kind: 'busy' })
    await provider.submit(wanted, soon())
  })

  test.each([
    ['vendor:fail=content_policy_violation', 'content_policy_violation'],
    ['vendor:fail=invalid_image', 'invalid_image'],
    ['vendor:fail=server_error', 'upstream_error'],
  ])('%s refuses the job in the end', async (prompt, code) => {
    const ref = await provider.submit(job(prompt), soon())
    expect(await ended(ref)).toEqual({ kind: 'refused', code, message: expect.stringContaining('failed: ') })
  })

  test('vendor:reject refuses the job at once', async () => {
    const failure = await failureOf(provider.submit(job('vendor:reject=moderation_blocked'), soon()))
    expect(failure).toMatchObject({ kind: 'moderated', code: 'content_policy_violation' })
  })

  test('vendor:never keeps running', async () => {
    const ref = await provider.submit(job('vendor:never vendor:duration=1ms'), soon())
    await wait(5)
    expect(await provider.poll(ref, soon())).toMatchObject({ kind: 'running', progress: 50 })
  })

  test('vendor:poll-503 is busy for that many polls', async () => {
    const ref = await provider.submit(job('vendor:poll-503=3 vendor:duration=0ms'), soon())
    for (const _ of [1, 2, 3])
      expect(await failureOf(provider.poll(ref, soon()))).toMatchObject({ kind: 'busy' })
    expect(await provider.poll(ref, soon())).toMatchObject({ kind: 'done' })
  })

  test('vendor:bad-media and vendor:cut-media show in the download', async () => {
    const bad = await provider.submit(job('vendor:bad-media vendor:duration=0ms'), soon())
    const content = Buffer.concat(await (await provider.openResult(bad, null, soon())).toArray())
    expect(content.toString()).toContain('not a video')
    const cut = await provider.submit(job('vendor:cut-media vendor:duration=0ms'), soon())
    const half = await provider.openResult(cut, null, soon())
    expect(await failureOf(half.toArray())).toMatchObject({
      kind: 'unknown',
      message: 'download broke off: UND_ERR_SOCKET',
    })
    expect(await (await provider.openResult(cut, null, soon())).toArray()).not.toHaveLength(0)
  })

  test('a video that is not ready cannot be opened', async () => {
    const ref = await provider.submit(job('vendor:never'), soon())
    expect(await failureOf(provider.openResult(ref, null, soon()))).toMatchObject({ kind: 'rejected' })
  })

  test('a slow response times out with an unknown outcome, and lookup finds the job', async () => {
    const looking = connect(vendor.url, { idempotentSubmits: false, lookup: true })
    expect(looking.submitsAreIdempotent).toBe(false)
    const wanted = job('vendor:slow-reply=600000ms')
    const patience = new AbortController()
    const failure = failureOf(looking.submit(wanted, patience.signal))
    await expect.poll(() => jobsOf(wanted.taskId)).toHaveLength(1)
    patience.abort(new DOMException('too slow', 'TimeoutError'))
    expect(await failure).toMatchObject({ kind: 'unknown' })
    expect(await looking.lookup?.(wanted.taskId, soon())).toEqual({ id: jobsOf(wanted.taskId)[0]?.id })
    expect(await looking.lookup?.('task-of-nobody', soon())).toBeUndefined()
    expect(provider.lookup).toBeUndefined()
  })

  test('a wrong key is unauthorized', async () => {
    const stranger = connect(vendor.url, { apiKey: 'someone-else' })
    const failure = await failureOf(stranger.submit(job('a cat'), soon()))
    expect(failure).toMatchObject({ kind: 'unauthorized', code: 'upstream_error' })
  })
})

test('the create request has the fields of the protocol', async () => {
  let seen = ''
  await using server = await listenForTest((request, response, body) => {
    const {
      authorization,
      'idempotency-key': key,
      'content-type': type,
      'content-length': length,
    } = request.headers
    expect(length).toBe(String(body.length))
    const boundary = type?.split('boundary=')[1] ?? ''
    seen = `${request.method} ${request.url} ${authorization} ${String(key)}\n${body.toString().replaceAll(boundary, '=')}`
    response.writeHead(202).end('{"id":"v1","status":"queued"}')
  })
  const provider = connect(`${server.url}/v1/`, { lookup: true })
  expect(
    await provider.submit(job('a "cat"', { taskId: 'task-a', references: [imageForTest('PNG')] }), soon()),
  ).toEqual({
    id: 'v1',
  })
  const part = (name: string, value: string) =>
    `--=\r\nContent-Disposition: form-data; name="${name}"${value}\r\n`
  expect(seen).toBe(
    'POST /v1/videos Bearer vendor-secret task-a\n' +
      part('model', '\r\n\r\nmaker-2') +
      part('prompt', '\r\n\r\na "cat"') +
      part('seconds', '\r\n\r\n4') +
      part('size', '\r\n\r\n1280x720') +
      part('client_reference', '\r\n\r\ntask-a') +
      part('input_reference', '; filename="reference-1.png"\r\nContent-Type: image/png\r\n\r\nPNG') +
      '--=--\r\n',
  )
})

test.each([
  ['{"id":"a"}', { id: 'a' }],
  ['{"task_id":17}', { id: '17' }],
  ['{"code":"success","data":{"task_id":"b","status":"NOT_START"}}', { id: 'b' }],
  ['{"data":[{"id":"c"}]}', { id: 'c' }],
  ['{"video_id":"d","status":"queued"}', { id: 'd' }],
  ['{"request_id":"e","status":"queued"}', { id: 'e' }],
  ['{"request_id":"r","code":0,"data":{"task_id":"f"}}', { id: 'f' }],
])('%s is accepted as a created job', async (reply, ref) => {
  await using server = await listenForTest((_request, response) => response.end(reply))
  expect(await connect(server.url).submit(job('a cat'), soon())).toEqual(ref)
})

test.each([
  ['{"error":{"code":"content_policy_violation"}}', 'moderated'],
  ['{"error":"out of credit, sorry"}', 'rejected'],
  ['{"code":"invalid_request","message":"no such size","data":null}', 'rejected'],
  ['{"code":429,"message":"slow down"}', 'busy'],
  ['{"error":{"code":"rate_limit_exceeded"}}', 'busy'],
  ['{"code":500,"message":"it fell over"}', 'unknown'],
  ['{"code":"success","message":"queued"}', 'unknown'],
  ['{"status":"queued"}', 'unknown'],
  ['{"id":".."}', 'unknown'],
  ['[]', 'unknown'],
  ['', 'unknown'],
])('%s is not accepted, and is %s', async (reply, kind) => {
  await using server = await listenForTest((_request, response) => response.end(reply))
  expect(await failureOf(connect(server.url).submit(job('a cat'), soon()))).toMatchObject({ kind })
})

const running = (progress?: number) => ({ kind: 'running', progress, pollAfterMs: undefined })
const refused = (code: string, message: string) => ({ kind: 'refused', code, message })

test.each([
  [{ id: 'a', status: 'queued' }, running()],
  [{ id: 'a', status: 'PENDING', progress: 0 }, running(0)],
  [{ id: 'a', status: 'Not_Start', progress: '0%' }, running(0)],
  [{ id: 'a', status: 'submitted', progress: null }, running()],
  [{ id: 'a', status: 'in_progress', progress: '45' }, running(45)],
  [{ id: 'a', status: 'processing', progress: 0.29 }, running(29)],
  [{ id: 'a', status: 'running', progress: 1 }, running(1)],
  [{ id: 'a', status: 'running', progress: 99.9 }, running(99)],
  [{ id: 'a', status: 'running', progress: 400 }, running(99)],
  [{ id: 'a', status: 'dreaming', progress: 'half' }, running()],
  [{ status: 'success', data: { task_id: 'a', status: 'PROCESSING', progress: '12%' } }, running(12)],
  [{ id: 'a', data: { status: 'queued', progress: 3 } }, running(3)],
  [
    { id: 'a', status: 'completed' },
    { kind: 'done', result: null },
  ],
  [
    { id: 'a', status: 'SUCCEEDED' },
    { kind: 'done', result: null },
  ],
  [
    { code: 'success', data: { task_id: 'a', status: 'SUCCESS' } },
    { kind: 'done', result: null },
  ],
  [{ id: 'a', status: 'failed', error: null }, refused('upstream_error', 'failed')],
  [
    { id: 'a', status: 'error', error: 'moderation_blocked' },
    refused('content_policy_violation', 'error: moderation_blocked: moderation_blocked'),
  ],
  [
    { id: 'a', status: 'failed', error: { code: 'x', message: 'no: https://h/?k=1' } },
    refused('upstream_error', 'failed: x: no: [url]'),
  ],
  [
    { data: { task_id: 'a', status: 'FAILURE', fail_reason: 'Blocked by our content policy.' } },
    refused('content_policy_violation', 'failure: Blocked by our content policy.'),
  ],
  [{ id: 'a', state: 'RUNNING', progress: 'warming up' }, running()],
  [{ task_status: 'submitted', request_id: 'a' }, running()],
  [
    { id: 'a', status: 'Done' },
    { kind: 'done', result: null },
  ],
  [{ error: { code: 'task_not_found' } }, { kind: 'missing' }],
  [{ code: 'task_not_exist', message: 'no such task' }, { kind: 'missing' }],
  [
    { id: 'a', status: 'failed', error: { code: 'server_error', message: 'It broke.' } },
    refused('upstream_error', 'failed: server_error: It broke.'),
  ],
  [{ id: 'a', status: 'timeout' }, refused('upstream_error', 'timeout')],
  [{ id: 'a', status: 'cancelled' }, refused('upstream_error', 'cancelled')],
  [{ id: 'a', status: 'canceled' }, refused('upstream_error', 'canceled')],
  [{ id: 'a', status: 'expired' }, refused('upstream_error', 'expired')],
])('a variant with the status %j', async (reply, status) => {
  await using server = await listenForTest((_request, response) => response.end(JSON.stringify(reply)))
  expect(await connect(server.url).poll({ id: 'a' }, soon())).toEqual(status)
})

test('a poll without a status, and a foreign reference, are failures', async () => {
  await using server = await listenForTest((_request, response) => response.end('{"id":"a"}'))
  const provider = connect(server.url)
  expect(await failureOf(provider.poll({ id: 'a' }, soon()))).toMatchObject({ kind: 'unknown' })
  for (const ref of [null, 'a', { name: 'a' }, { id: '..' }]) {
    expect(await failureOf(provider.poll(ref, soon()))).toMatchObject({ kind: 'rejected' })
  }
})

test.each([
  { video_url: '/film' },
  { url: '/film' },
  { metadata: { url: '/film' } },
  { unsigned_urls: ['/film', '/other'] },
  { result_url: '/film' },
  { output: ['/film'] },
  { output: [{ url: '/film' }] },
  { output: { url: '/film' } },
  { video: { url: '/film', width: 1280 } },
  { data: { video_url: '/film' } },
  { url: '', video_url: '/film' },
])('a variant with the video at %j', async (place) => {
  const seen: string[] = []
  await using server = await listenForTest((request, response) => {
    seen.push(`${request.url} ${request.headers.authorization}`)
    if (request.url === '/film') response.end('bytes')
    else response.end(JSON.stringify({ id: 'a', status: 'completed', ...place }))
  })
  const provider = connect(server.url, { results: 'link' })
  const status = await provider.poll({ id: 'a' }, soon())
  expect(status).toEqual({ kind: 'done', result: { url: '/film' } })
  const film = await provider.openResult({ id: 'a' }, { url: '/film' }, soon())
  expect(Buffer.concat(await film.toArray()).toString()).toBe('bytes')
  expect(seen).toEqual(['/v1/videos/a Bearer vendor-secret', '/film Bearer vendor-secret'])
})

test.each([{}, { url: null }, { video_url: 'javascript:1' }, { output: [] }, { url: '//elsewhere' }])(
  'a fork that is done and has its video at %j has none',
  async (place) => {
    await using server = await listenForTest((_request, response) => {
      response.end(JSON.stringify({ id: 'a', status: 'completed', ...place }))
    })
    expect(await connect(server.url, { results: 'link' }).poll({ id: 'a' }, soon())).toMatchObject({
      kind: 'refused',
      code: 'upstream_error',
    })
  },
)

test('an expired link is refreshed', async () => {
  await using server = await listenForTest((request, response) => {
    if (request.url === '/fresh') response.end('bytes')
    else if (request.url === '/stale' || request.url === '/gone') response.writeHead(410).end()
    else {
      const url = request.url?.endsWith('gone') === true ? '/gone' : '/fresh'
      response.end(JSON.stringify({ id: 'a', status: 'completed', url }))
    }
  })
  const provider = connect(server.url, { results: 'link' })
  const film = await provider.openResult({ id: 'a' }, { url: '/stale' }, soon())
  expect(Buffer.concat(await film.toArray()).toString()).toBe('bytes')
  expect(await failureOf(provider.openResult({ id: 'gone' }, { url: '/gone' }, soon()))).toMatchObject({
    kind: 'rejected',
  })
})

test('video is requested explicitly, and the poll interval of the vendor is used', async () => {
  await using server = await listenForTest((request, response) => {
    if (request.url === '/v1/videos/a/content') response.end(request.headers.accept)
    else response.writeHead(200, { 'retry-after': '7' }).end('{"id":"a","status":"queued"}')
  })
  const provider = connect(server.url)
  const film = await provider.openResult({ id: 'a' }, null, soon())
  expect(Buffer.concat(await film.toArray()).toString()).toMatch(/^video\/mp4,/)
  expect(await provider.poll({ id: 'a' }, soon())).toMatchObject({ kind: 'running', pollAfterMs: 7000 })
})

test('an id is always a single path segment', async () => {
  const urls: (string | undefined)[] = []
  await using server = await listenForTest((request, response) => {
    urls.push(request.url)
    response.writeHead(404).end()
  })
  const provider = connect(`${server.url}/openai`)
  expect(await provider.poll({ id: '../a?b#c' }, soon())).toEqual({ kind: 'missing' })
  expect(urls).toEqual(['/openai/v1/videos/..%2Fa%3Fb%23c'])
})

test.each([
  ['{"data":[]}', undefined],
  ['{"data":[{"id":"x","client_reference":"other"},{"id":"y","client_reference":"mine"}]}', { id: 'y' }],
])('lookup in %s', async (reply, ref) => {
  await using server = await listenForTest((_request, response) => response.end(reply))
  expect(await connect(server.url, { lookup: true }).lookup?.('mine', soon())).toEqual(ref)
})

test.each(['{"data":[{"id":"x"}]}', '{"id":"x"}'])('lookup does not trust %s', async (reply) => {
  await using server = await listenForTest((_request, response) => response.end(reply))
  const lookup = connect(server.url, { lookup: true }).lookup?.('mine', soon())
  expect(await failureOf(Promise.resolve(lookup))).toMatchObject({ kind: 'unknown' })
})
