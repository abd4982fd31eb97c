import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { startLocalProvider, type LocalProvider } from './server.ts'

const run = promisify(execFile)

let root: string
let provider: LocalProvider

async function start(): Promise<LocalProvider> {
  const directory = path.join(root, 'jobs')
  return await startLocalProvider({
    host: '127.0.0.1',
    port: 0,
    directory,
    modelDirectory: path.join(root, 'models'),
    ffmpegPath: 'ffmpeg',
    log: () => {},
  })
}

beforeAll(async () => {
  root = await mkdtemp(path.join(tmpdir(), 'kinora-local-'))
  provider = await start()
})
afterAll(async () => {
  await provider.close()
  await rm(root, { recursive: true, force: true })
})

const plainJob = { model: 'm', prompt: 'a lake', seconds: 1, width: 128, height: 128, watermark: true }

interface TestResponse {
  status: number
  retryAfter: string | null
  body: { state?: string; progress?: number; error?: { code: string }; sizeBytes?: number; id?: string }
}

async function call(method: string, target: string, body?: FormData | string): Promise<TestResponse> {
  const response = await fetch(provider.url + target, { method, ...(body === undefined ? {} : { body }) })
  const text = await response.text()
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    body: text === '' ? {} : (JSON.parse(text) as TestResponse['body']),
  }
}

async function put(
  id: string,
  job: unknown,
  references: Blob[] = [],
  others: [name: string, content: Blob][] = [],
): Promise<TestResponse> {
  const form = new FormData()
  form.set('job', typeof job === 'string' ? job : JSON.stringify(job))
  for (const reference of references) form.append('reference', reference, '../../evil.png')
  for (const [name, content] of others) form.append(name, content, '../../evil')
  return await call('PUT', `/jobs/${encodeURIComponent(id)}`, form)
}

async function settled(id: string): Promise<TestResponse['body']> {
  let body: TestResponse['body'] = {}
  await expect
    .poll(async () => {
      body = (await call('GET', `/jobs/${encodeURIComponent(id)}`)).body
      return body.state
    })
    .toMatch(/done|failed/)
  return body
}

test('health reports the version of ffmpeg', async () => {
  const response = await fetch(`${provider.url}/health`)
  expect(await response.json()).toMatchObject({ ok: true, ffmpeg: expect.stringMatching(/^\S+$/) as string })
})

test('a repeated request does not create a second job', async () => {
  const id = 'vidB-2:1731650000-Ab12'
  const job = { ...plainJob, prompt: 'a lake sim:fail=content_policy_violation' }
  expect(await put(id, job)).toMatchObject({ status: 201, body: { id, state: 'queued', progress: 0 } })
  expect(await settled(id)).toMatchObject({ state: 'failed', error: { code: 'content_policy_violation' } })
  expect(await put(id, job)).toMatchObject({ status: 200, body: { id, state: 'failed' } })
  expect(await call('GET', `/jobs/${id}/result`)).toMatchObject({ status: 409 })
})

test('two concurrent requests for the same job create one job', async () => {
  const job = { ...plainJob, prompt: 'sim:stall' }
  const responses = await Promise.all([put('video_twin', job), put('video_twin', job)])
  expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([200, 201]))
})

test.each([
  ['no JSON', '{'],
  ['no object', '[]'],
  ['no prompt', { ...plainJob, prompt: undefined }],
  ['too long', { ...plainJob, seconds: 61 }],
  ['odd width', { ...plainJob, width: 129 }],
  ['tiny', { ...plainJob, height: 32 }],
  ['watermark as text', { ...plainJob, watermark: 'yes' }],
  ['an unknown reference mode', { ...plainJob, referenceMode: 'collage' }],
  ['characters as text', { ...plainJob, characters: 'mina' }],
  ['a character without a name', { ...plainJob, characters: [''] }],
  ['a name without an image', { ...plainJob, characters: ['mina'] }],
])('rejects an invalid job: %s', async (_name, job) => {
  expect(await put('video_bad', job)).toMatchObject({
    status: 400,
    body: { error: { code: 'invalid_request' } },
  })
  expect(await call('GET', '/jobs/video_bad')).toMatchObject({ status: 404 })
})

test('rejects four references, a body that is not a form, and a malformed id', async () => {
  const image = new Blob(['x'])
  expect(await put('video_bad', plainJob, [image, image, image, image])).toMatchObject({
    status: 400,
  })
  expect(await call('PUT', '/jobs/video_bad', 'hello')).toMatchObject({ status: 400 })
  expect(await call('PUT', '/jobs/%20', 'hello')).toMatchObject({ status: 400 })
})

const uploaded = new Blob(['x'])

test('accepts a source and characters', async () => {
  const job = { ...plainJob, prompt: 'sim:stall', referenceMode: 'frames', characters: ['mina', 'otto'] }
  const files: [string, Blob][] = [
    ['character', uploaded],
    ['source', uploaded],
    ['character', uploaded],
  ]
  expect(await put('video_cast', job, [uploaded], files)).toMatchObject({ status: 201 })
  expect(await call('DELETE', '/jobs/video_cast')).toMatchObject({ status: 204 })
})

test.each<[string, string[], [string, Blob][]]>([
  ['an image without a name', [], [['character', uploaded]]],
  ['five characters', ['a', 'b', 'c', 'd'], Array.from({ length: 5 }, () => ['character', uploaded])],
  ['two sources', [], Array.from({ length: 2 }, () => ['source', uploaded])],
  ['a large character', ['a'], [['character', new Blob([Buffer.alloc(20 * 1024 * 1024 + 1)])]]],
  ['a part of another name', [], [['video', uploaded]]],
])('rejects %s', async (_name, characters, files) => {
  expect(await put('video_bad', { ...plainJob, characters }, [], files)).toMatchObject({
    status: 400,
    body: { error: { code: 'invalid_request' } },
  })
})

test('unknown jobs and paths are errors', async () => {
  expect(await call('GET', '/jobs/none')).toMatchObject({
    status: 404,
    body: { error: { code: 'job_not_found' } },
  })
  expect(await call('GET', '/jobs/none/result')).toMatchObject({ status: 404 })
  expect(await call('GET', '/elsewhere')).toMatchObject({ status: 404 })
  expect(await call('POST', '/jobs/none')).toMatchObject({ status: 405 })
})

test('sim:429 refuses the requested number of times', async () => {
  const job = { ...plainJob, prompt: 'sim:429=2 sim:fail=upstream_error' }
  expect(await put('video_429', job)).toMatchObject({ status: 429, retryAfter: '1' })
  expect(await put('video_429', job)).toMatchObject({ status: 429 })
  expect(await put('video_429', job)).toMatchObject({ status: 201 })
})

test('a stalled job stays at 50 until it is deleted', async () => {
  await put('video_stall', { ...plainJob, prompt: 'sim:stall' })
  expect(await call('GET', '/jobs/video_stall')).toMatchObject({ body: { state: 'running', progress: 50 } })
  expect(await call('DELETE', '/jobs/video_stall')).toMatchObject({ status: 204 })
  expect(await call('GET', '/jobs/video_stall')).toMatchObject({ status: 404 })
})

test('a reference that is not an image fails the job', async () => {
  await put('video_svg', plainJob, [new Blob(['<svg xmlns="http://www.w3.org/2000/svg"/>'])])
  expect(await settled('video_svg')).toMatchObject({ state: 'failed', error: { code: 'invalid_image' } })
})

test('what a killed process has left of requests is removed at the start', async () => {
  await provider.close()
  const requests = path.join(root, 'jobs', 'requests')
  await mkdir(path.join(requests, 'kinora-upload-x'))
  await writeFile(path.join(requests, 'kinora-upload-x', 'upload'), 'a voice')
  provider = await start()
  expect(await readdir(requests)).toEqual([])
})

test('a request for speech has its files in the directory of the provider', async () => {
  const speech = { model: 'tts-1', input: 'Hello', voice: 'nova', response_format: 'wav' }
  const response = await fetch(`${provider.url}/v1/audio/speech`, {
    method: 'POST',
    body: JSON.stringify(speech),
  })
  expect([response.status, (await response.arrayBuffer()).byteLength > 0]).toEqual([200, true])
  expect(await readdir(path.join(root, 'jobs', 'requests'))).toEqual([
    expect.stringMatching(/^kinora-speech-/) as string,
  ])
})

test('a rendered film is available after a restart', async () => {
  expect(await put('video_real', plainJob)).toMatchObject({ status: 201 })
  const job = await settled('video_real')
  expect(job).toMatchObject({ state: 'done', progress: 100 })
  await provider.close()
  provider = await start()
  const response = await fetch(`${provider.url}/jobs/video_real/result`)
  expect(response.headers.get('content-type')).toBe('video/mp4')
  expect(response.headers.get('content-length')).toBe(String(job.sizeBytes))
  const file = path.join(root, 'film.mp4')
  await writeFile(file, Buffer.from(await response.arrayBuffer()))
  const entries = 'format=duration:stream=codec_name,profile,width,height,pix_fmt,nb_frames,channels'
  const { stdout } = await run('ffprobe', ['-v', 'error', '-of', 'json', '-show_entries', entries, file])
  const probe = JSON.parse(stdout) as { streams: unknown[]; format: { duration: string } }
  expect(probe.streams).toMatchObject([
    { codec_name: 'h264', profile: 'High', width: 128, height: 128, pix_fmt: 'yuv420p', nb_frames: '24' },
    { codec_name: 'aac', channels: 2 },
  ])
  expect(Number(probe.format.duration)).toBeCloseTo(1, 1)
})
