/** The reference video and audio of an order, for models that use them. */
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { ask, askJson, expectProblem, form, pixel, pixelUri } from '../kit/answers.ts'
import { completeTask, createAccount, createKey, endTask, type TestKey } from '../kit/factories.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { makeVideo } from '../kit/sample-video.ts'
import { encoded, wave } from '../kit/sound.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'
import { listKeys } from '../kit/stored-media.ts'

let directory: string
let files: Server
let filesUrl: string
let gateway: TestGateway
let operator: Operator
let accountId: string
let key: TestKey
let video: Buffer
let audio: Buffer
let largerPixel: Buffer
let downloads = 0

const order = { model: 'clip-1', prompt: 'A whale', seconds: '3', size: '640x360' }

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-clips-'))
  video = await makeVideo(directory, { seconds: 1 })
  largerPixel = await sharp({
    create: { width: 9, height: 9, channels: 3, background: '#fff' },
  })
    .png()
    .toBuffer()
  audio = await encoded(wave(1), 'audio.mp3')
  files = createServer((request, response) => {
    downloads += 1
    if (request.url === '/video.mp4') response.end(video)
    else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => files.listen({ host: '127.0.0.1', port: 0 }, resolve))
  filesUrl = `http://127.0.0.1:${(files.address() as AddressInfo).port}`
  gateway = await startGateway({ FETCH_ALLOW_ORIGINS: filesUrl })
  operator = await createOperator(gateway)
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
  const settings = {
    ...{ kind: 'video', family: 'B', seconds: [3], sizes: ['640x360'], images: 2 },
    ...{ reference_video: true, reference_audio: true, image_roles: ['reference'] },
    prices: [
      { unit: 'second', micros: 10 },
      { unit: 'second', micros: 30, input: 'video' },
      { unit: 'image', micros: 1 },
    ],
  }
  await operator.call('setModelEntry', { id: 'clip-1', body: { settings } })
})
afterAll(async () => {
  await gateway[Symbol.asyncDispose]()
  files.close()
  await rm(directory, { recursive: true })
})

const create = (fields: Record<string, string | Blob>, search = '') =>
  ask(`${gateway.url}/v1/videos${search}`, key.text, { method: 'POST', body: form({ ...order, ...fields }) })
const blob = (bytes: Buffer) => new Blob([new Uint8Array(bytes)])
const filesOf = async (taskId: unknown) => {
  const { rows } = await gateway.database.postgres.query<{ type: string; bytes: number }>(
    `select content_type as type, size_bytes as bytes from media where task_id = $1 order by id`,
    [taskId],
  )
  return rows
}
const storedReferences = async () => (await listKeys(gateway.mediaStore, 'references')).length

test('are stored beside the images until the task ends, and are priced as video', async () => {
  const fields = { reference_video: blob(video), reference_audio: blob(audio), input_reference: pixel }
  const before = await storedReferences()
  const quote = await create(fields, '?dry_run=true')
  expect(quote.body).toMatchObject({
    ...{ total_micros: 91, lines: [{ input: 'video', total_micros: 90 }, { unit: 'image' }] },
  })
  expect(await storedReferences()).toBe(before)
  const { body } = await create(fields)
  expect(await filesOf(body['id'])).toEqual([
    { type: 'image/png', bytes: expect.any(Number) },
    { type: 'video/mp4', bytes: video.length },
    { type: 'audio/mpeg', bytes: audio.length },
  ])
  const { order: stored } = await operator.call('getTaskOrder', { id: String(body['id']) })
  expect(stored).toMatchObject({ images: 1, imageRoles: ['reference'] })
  await endTask(gateway.database.postgres, String(body['id']), {
    ...{ kind: 'failed', code: 'upstream_error', message: 'no' },
  })
  const retried = await operator.ask('retryTask', { id: String(body['id']) })
  expectProblem(retried, 'conflict')
  expect(JSON.stringify(retried.body)).toContain('reference files')
})

test('images keep their order, however fast they are stored', async () => {
  const larger = `data:image/png;base64,${largerPixel.toString('base64')}`
  for (let round = 0; round < 20; round += 1) {
    const { body } = await askJson(`${gateway.url}/v1/video/create`, key.text, {
      ...{ model: 'clip-1', prompt: 'A whale', duration: 3, images: [larger, pixelUri] },
    })
    const [first, last] = await filesOf(body['id'])
    expect(first?.bytes).toBeGreaterThan(last?.bytes ?? 0)
  }
})

test('may be URLs, on both endpoints', async () => {
  const url = `${filesUrl}/video.mp4`
  const { body } = await create({ reference_video: url })
  expect(await filesOf(body['id'])).toEqual([{ type: 'video/mp4', bytes: video.length }])
  const other = await askJson(`${gateway.url}/v1/video/create`, key.text, {
    ...{ model: 'clip-1', prompt: 'A whale', duration: 3, images: [pixelUri], reference_video: url },
  })
  expect(await filesOf(other.body['id'])).toHaveLength(2)
})

test.each([
  ['a video that is none', 'reference_video', (): string | Blob => blob(audio), 'invalid_file_format', 'MP4'],
  [
    'an audio that is none',
    'reference_audio',
    () => blob(Buffer.from('hello')),
    'invalid_file_format',
    'audio',
  ],
  [
    'a longer audio',
    'reference_audio',
    (): string | Blob => blob(wave(61)),
    'invalid_parameter',
    '60 seconds',
  ],
  [
    'a URL without a file',
    'reference_video',
    (): string | Blob => `${filesUrl}/none`,
    'invalid_parameter',
    'fetched',
  ],
  [
    'a private URL',
    'reference_video',
    (): string | Blob => 'http://10.0.0.1/a.mp4',
    'invalid_parameter',
    'fetched',
  ],
  ['another text', 'reference_audio', (): string | Blob => 'a song', 'invalid_parameter', 'URL'],
] as const)('%s is refused, and leaves no file', async (_, param, value, code, message) => {
  const before = await storedReferences()
  const answer = await create({ [param]: value() })
  expectProblem(answer, code, param)
  expect(JSON.stringify(answer.body)).toContain(message)
  expect(await storedReferences()).toBe(before)
})

test('a link to a file of this service is copied, unless the file is too large', async () => {
  const { postgres } = gateway.database
  const { body } = await askJson(`${gateway.url}/v1/videos`, key.text, {
    ...{ model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' },
  })
  const { mediaId } = await completeTask(gateway, accountId, String(body['id']))
  const { body: read } = await ask(`${gateway.url}/v1/videos/${String(body['id'])}`, key.text)
  await postgres.query('update media set size_bytes = $2 where id = $1', [mediaId, 65 * 1_048_576])
  const answer = await create({ reference_video: String(read['video_url']) })
  expectProblem(answer, 'invalid_parameter', 'reference_video')
  expect(JSON.stringify(answer.body)).toContain('64 MB')
})

test('nothing is downloaded for a caller who cannot pay', async () => {
  const { postgres } = gateway.database
  const poor = await createKey(postgres, await createAccount(postgres, { balance: 0 }))
  const before = downloads
  for (const search of ['', '?dry_run=true']) {
    for (const param of ['reference_video', 'input_reference']) {
      const body = { ...order, [param]: `${filesUrl}/video.mp4` }
      const answer = await askJson(`${gateway.url}/v1/videos${search}`, poor.text, body)
      expectProblem(answer, 'insufficient_balance')
    }
  }
  expect(downloads).toBe(before)
})

test('are ignored by models that do not use them', async () => {
  const answer = await create({
    model: 'vidB-2',
    seconds: '4',
    size: '480x480',
    reference_audio: blob(audio),
  })
  expect(answer.status).toBe(200)
  expect(answer.headers.get('x-ignored-params')).toContain('reference_audio')
  expect(await filesOf(answer.body['id'])).toEqual([])
  const { body } = await ask(`${gateway.url}/v1/models/vidB-2`, key.text)
  expect(body).toMatchObject({ reference_video: false, reference_audio: false })
})
