/** Videos as read by the official `openai` package, and the other ways to get its status names. */
import { fileURLToPath } from 'node:url'

import OpenAI, { toFile } from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { ask, askJson, expectProblem } from '../kit/answers.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'
import { startTaskLife, type TaskLife } from '../kit/task-life.ts'

let gateway: TestGateway
let life: TaskLife
let accountId: string
let key: TestKey
let client: OpenAI

beforeAll(async () => {
  gateway = await startGateway({ PUBLIC_URL: 'https://videos.example' })
  life = startTaskLife(gateway)
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
  client = new OpenAI({ apiKey: key.text, baseURL: `${gateway.url}/openai/v1`, maxRetries: 0 })
})
afterAll(async () => {
  life.close()
  await gateway[Symbol.asyncDispose]()
})

const order = { model: 'vidB-2', prompt: 'A whale', seconds: '4', size: '1280x720' } as const
/** About the current time, in seconds. */
const now = () => expect.closeTo(Date.now() / 1000, -5)

/** Every field of the client's type, so that the type check notices new ones. */
const queued = (id: string): OpenAI.Video => ({
  id,
  object: 'video',
  model: 'vidB-2',
  status: 'queued',
  progress: 0,
  created_at: now(),
  completed_at: null,
  expires_at: null,
  prompt: 'A whale',
  seconds: '4',
  size: '1280x720',
  remixed_from_video_id: null,
  error: null,
})

/** The fields that the client's type does not have. */
const ours = () => ({
  ...{ video_url: null, metadata: {}, enhanced_prompt: 'A whale', status_update_time: now() },
})

describe('under /openai/v1', () => {
  /** Only a read has estimates of the queue position and the time left, as far as they are known. */
  const readOf = async (id: string) => {
    const read: object = await client.videos.retrieve(id)
    const estimates = ['queue_position', 'time_left_seconds']
    return Object.fromEntries(Object.entries(read).filter(([name]) => !estimates.includes(name)))
  }

  test('create, read and list return the same fields in every state', async () => {
    const created = await client.videos.create(order)
    const { id } = created
    const shown = async () => {
      const read = await readOf(id)
      const listed = (await client.videos.list()).data.find((each) => each.id === id)
      // Each response has a newly signed link.
      expect({ ...listed, video_url: '' }).toEqual({ ...read, video_url: '' })
      return read
    }
    expect(created).toEqual({ ...queued(id), ...ours() })
    expect(await shown()).toEqual(created)

    await life.begin(id)
    await life.progress(id, 30)
    await expect.poll(async () => (await client.videos.retrieve(id)).progress).toBe(30)
    expect(await shown()).toEqual({
      ...{ ...created, status: 'in_progress', progress: 30, status_update_time: now() },
    })

    const mediaId = await life.complete(id, accountId)
    await expect.poll(async () => (await client.videos.retrieve(id)).status).toBe('completed')
    const { expires_at: expiresAt } = await client.videos.retrieve(id)
    expect(await shown()).toEqual({
      ...created,
      status: 'completed',
      progress: 100,
      completed_at: now(),
      status_update_time: now(),
      expires_at: expect.any(Number),
      video_url: expect.stringContaining(`/media/${mediaId}/`),
    })
    expect(expiresAt).toBeGreaterThan(Date.now() / 1000)

    const remix = await client.videos.remix(id, { prompt: 'At night' })
    expect(remix).toEqual({
      ...queued(remix.id),
      prompt: 'At night',
      remixed_from_video_id: id,
      ...{ ...ours(), enhanced_prompt: 'At night' },
    })
    expect(await readOf(remix.id)).toEqual(remix)
  })

  test('a failed video has its error, and family A has the same shape', async () => {
    const { id } = await client.videos.create(order)
    await life.fail(id, 'content_policy_violation', 'Not that.')
    await expect.poll(async () => (await client.videos.retrieve(id)).status).toBe('failed')
    expect(await client.videos.retrieve(id)).toEqual({
      ...queued(id),
      status: 'failed',
      error: { code: 'content_policy_violation', message: 'Not that.' },
      ...ours(),
    })
    const { body } = await askJson(`${gateway.url}/v1/video/create`, key.text, {
      model: 'vidA3',
      prompt: 'A whale',
    })
    expect(Object.keys(await readOf(String(body['id']))).toSorted()).toEqual(
      [...Object.keys(queued('')), ...Object.keys(ours())].toSorted(),
    )
  })

  test('a cancelled video has the same shape', async () => {
    const { id } = await client.videos.create(order)
    const { body } = await ask(`${gateway.url}/openai/v1/videos/${id}/cancel`, key.text, { method: 'POST' })
    expect(body).toEqual({
      ...queued(id),
      status: 'failed',
      error: { code: 'task_cancelled', message: expect.any(String) },
      ...ours(),
    })
  })
})

describe('the documented defaults', () => {
  test('model, seconds and size may be omitted where a model has the default name', async () => {
    await using named = await startGateway({
      PROVIDERS_FILE: fileURLToPath(new URL('../../../cli/src/dev/providers.yaml', import.meta.url)),
    })
    const { postgres } = named.database
    const { text } = await createKey(postgres, await createAccount(postgres))
    const other = new OpenAI({ apiKey: text, baseURL: `${named.url}/openai/v1`, maxRetries: 0 })
    expect(await other.videos.create({ prompt: 'A whale' })).toMatchObject({
      ...{ model: 'sora-2', seconds: '4', size: '720x1280', status: 'queued' },
    })
    expect(
      await other.videos.create({ prompt: 'A whale', model: 'sora-2-pro', seconds: '12' }),
    ).toMatchObject({ model: 'sora-2-pro', seconds: '12', size: '720x1280' })
    // The sizes that only the packages document belong to their names; the reference excludes them.
    const create = (model: string, size: string) =>
      askJson(`${named.url}/v1/videos`, text, { model, size, prompt: 'A whale', seconds: 4 })
    for (const size of ['1024x1792', '1792x1024']) {
      for (const model of ['sora-2', 'sora-2-pro']) expect((await create(model, size)).status).toBe(200)
      for (const model of ['vidB-2', 'vidB-2-pro'])
        expectProblem(await create(model, size), 'invalid_parameter', 'size')
    }
    const { status, body } = await askJson(`${named.url}/v1/videos`, text, { prompt: 'A whale' })
    expect([status, body['error']]).toMatchObject([400, { code: 'missing_parameter', param: 'model' }])
  })

  test('without a model of that name the error lists the models and the way to add it', async () => {
    await expect(client.videos.create({ prompt: 'A whale' })).rejects.toMatchObject({
      status: 404,
      code: 'model_not_found',
      param: 'model',
      message: expect.stringMatching(/'sora-2' does not exist.*aliases/s),
    })
  })

  test('seconds and size have a default only under /openai/v1, and only one that the model allows', async () => {
    const given = { model: 'vidB-2', prompt: 'A whale' }
    expect(await client.videos.create(given)).toMatchObject({ seconds: '4', size: '720x1280' })
    const url = `${gateway.url}/v1/videos`
    expectProblem(await askJson(url, key.text, given), 'missing_parameter', 'seconds')
    expectProblem(await askJson(url, key.text, { ...given, seconds: 4 }), 'missing_parameter', 'size')
    await expect(client.videos.create({ ...given, seconds: '5' as '4' })).rejects.toMatchObject({
      ...{ status: 400, param: 'seconds' },
    })
  })
})

describe('parameters of the client', () => {
  test('a reference image is a file or a URL, and a file id is refused with the alternatives', async () => {
    const text = await toFile(Buffer.from('no image'), 'a.png')
    await expect(
      client.videos.create({ ...order, input_reference: { file_id: 'file-1' } }),
    ).rejects.toMatchObject({
      ...{ status: 400, code: 'invalid_parameter', param: 'input_reference' },
      message: expect.stringContaining('image_url'),
    })
    await expect(client.videos.create({ ...order, input_reference: text })).rejects.toMatchObject({
      status: 400,
      code: 'invalid_image',
    })
  })
})

describe('client methods of other paths', () => {
  test('edit creates a remix of one of the own videos', async () => {
    const { id } = await client.videos.create(order)
    const edit = () => client.videos.edit({ prompt: 'At night', video: { id } })
    await expect(edit()).rejects.toMatchObject({ status: 400, code: 'task_not_completed' })
    await life.begin(id)
    await life.complete(id, accountId)
    await expect.poll(async () => (await client.videos.retrieve(id)).status).toBe('completed')
    const edited = await edit()
    expect(edited).toEqual({
      ...queued(edited.id),
      prompt: 'At night',
      remixed_from_video_id: id,
      ...{ ...ours(), enhanced_prompt: 'At night' },
    })
    const url = `${gateway.url}/v1/videos/edits`
    expectProblem(await askJson(url, key.text, { prompt: 'At night' }), 'missing_parameter', 'video')
    expectProblem(
      await askJson(url, key.text, { prompt: 'At night', video: 'x' }),
      'invalid_parameter',
      'video',
    )
    expectProblem(await askJson(url, key.text, { video: { id } }), 'missing_parameter', 'prompt')
    const video = await toFile(Buffer.from('x'), 'video.mp4')
    await expect(client.videos.edit({ prompt: 'At night', video })).rejects.toMatchObject({
      ...{ status: 400, code: 'invalid_parameter', param: 'video' },
      message: expect.stringContaining('cannot be a file'),
    })
    const stranger = await createKey(
      gateway.database.postgres,
      await createAccount(gateway.database.postgres),
    )
    expectProblem(await askJson(url, stranger.text, { prompt: 'At night', video: { id } }), 'task_not_found')
  })

  test('extend and custom voices are refused with 404 and an explanation', async () => {
    const { id } = await client.videos.create(order)
    const refused = (words: string) => ({
      ...{ status: 404, code: 'endpoint_not_found', message: expect.stringContaining(words) },
    })
    await expect(
      client.videos.extend({ prompt: 'And on', seconds: '4', video: { id } }),
    ).rejects.toMatchObject(refused('remix'))
    const recording = await toFile(Buffer.from('x'), 'a.wav')
    await expect(
      client.audio.voices.create({ name: 'mine', consent: 'none', audio_sample: recording }),
    ).rejects.toMatchObject(refused('GET /v1/audio/voices'))
    await expect(
      client.audio.voiceConsents.create({ name: 'mine', language: 'en', recording }),
    ).rejects.toMatchObject(refused('GET /v1/audio/voices'))
  })
})

describe('outside /openai/v1', () => {
  test('the dialect of a header or key changes the status names and no field', async () => {
    const url = `${gateway.url}/v1/videos`
    const ofDialect = await createKey(gateway.database.postgres, accountId)
    await gateway.database.postgres.query(`update keys set dialect = 'openai' where id = $1`, [ofDialect.id])
    const json = { ...order, seconds: 4 }
    const plain = (await askJson(url, key.text, json)).body
    const plainRead = (await ask(`${url}/${String(plain['id'])}`, key.text)).body
    for (const [text, headers] of [
      [key.text, { 'x-api-dialect': 'openai' }],
      [key.text, { 'x-stainless-poll-helper': 'true' }],
      [ofDialect.text, {}],
    ] as const) {
      const { body } = await askJson(url, text, json, headers)
      expect(body).toEqual({
        ...{ ...plain, id: body['id'], status: 'queued', created_at: now(), status_update_time: now() },
      })
      const id = String(body['id'])
      const read = await ask(`${url}/${id}`, text, { headers })
      expect(read.body).toEqual({
        ...{ ...plainRead, id, status: 'queued', created_at: now(), status_update_time: now() },
      })
    }
  })
})
