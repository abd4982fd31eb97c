import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { ask, askJson, expectProblem, form, pixel, pixelUri } from '../kit/answers.ts'
import { completeTask, createAccount, createKey, endTask, subscribe, type TestKey } from '../kit/factories.ts'
import { shownVideo } from '../kit/shown-video.ts'
import { recordOf, startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let accountId: string
let key: TestKey
let sourceId: string

const create = async (order: Record<string, unknown> = {}, text = key.text) => {
  const { body } = await askJson(`${gateway.url}/v1/videos`, text, {
    ...{ model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480', ...order },
  })
  return String(body['id'])
}
const completed = async (order: Record<string, unknown> = {}) => {
  const id = await create(order)
  const video = await completeTask(gateway, accountId, id)
  return { id, video }
}
const remix = (id: string, body: unknown, text = key.text, headers: Record<string, string> = {}) =>
  askJson(`${gateway.url}/v1/videos/${id}/remix`, text, body, headers)
const read = async (id: string) => (await ask(`${gateway.url}/v1/videos/${id}`, key.text)).body
const rowOf = async (id: unknown) => {
  const { rows } = await gateway.database.postgres.query<Record<string, unknown>>(
    `select created_via as "createdVia", provider, video_order as "order", hold_micros as "holdMicros" from video_tasks where id = $1`,
    [id],
  )
  return rows[0]
}

beforeAll(async () => {
  gateway = await startGateway()
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
  ;({ id: sourceId } = await completed())
})
afterAll(() => gateway[Symbol.asyncDispose]())

describe('200', () => {
  test('the response and the task have the fields of any other video', async () => {
    const { status, body } = await remix(sourceId, { prompt: 'At night' })
    expect(status).toBe(200)
    const shown = shownVideo({
      id: expect.stringMatching(/^vidB-2:remix-\d{10}-[0-9A-Za-z]{14}$/),
      ...{ model: 'vidB-2', seconds: 4, size: '480x480' },
      ...{ enhanced_prompt: 'At night', remixed_from_video_id: sourceId },
    })
    expect(body).toEqual(shown)
    expect(await read(String(body['id']))).toEqual(shown)
  })

  test('a remix inherits model, length, size, style, watermark and privacy, and has the price of its source', async () => {
    const order = { model: 'vidB-2-pro', seconds: 8, size: '1280x720', style: 'noir', private: true }
    const { id, video } = await completed({ ...order, watermark: false })
    const { body } = await remix(id, { prompt: 'At night' })
    expect(await rowOf(body['id'])).toEqual({
      createdVia: 'remix',
      provider: 'local',
      order: {
        prompt: 'At night',
        seconds: 8,
        size: '1280x720',
        width: 1280,
        height: 720,
        watermark: false,
        isPrivate: true,
        sound: true,
        style: 'noir',
        remixOf: { taskId: id, mediaId: video.mediaId },
      },
      holdMicros: (await rowOf(id))?.['holdMicros'],
    })
  })

  test('a remix accepts its own size, as a form or as JSON', async () => {
    const { body } = await ask(`${gateway.url}/v1/videos/${sourceId}/remix`, key.text, {
      method: 'POST',
      body: form({ prompt: 'Wider', size: '720x1280' }),
    })
    expect(await rowOf(body['id'])).toMatchObject({ order: { size: '720x1280', width: 720, height: 1280 } })
  })

  test('a remix can be remixed', async () => {
    const { body: first } = await remix(sourceId, { prompt: 'At night' })
    await completeTask(gateway, accountId, String(first['id']))
    const { status, body } = await remix(String(first['id']), { prompt: 'And in rain' })
    expect(status).toBe(200)
    expect(await rowOf(body['id'])).toMatchObject({ order: { remixOf: { taskId: first['id'] } } })
  })

  test('the openai dialect returns queued, and unknown parameters are listed as ignored', async () => {
    const body = { prompt: 'At night', model: 'vidB-2-pro' }
    const answer = await remix(sourceId, body, key.text, { 'x-api-dialect': 'openai' })
    expect(answer.body).toMatchObject({ status: 'queued' })
    expect(answer.headers.get('x-ignored-params')).toBe('model')
  })

  test('any key of the account may remix', async () => {
    const other = await createKey(gateway.database.postgres, accountId, { models: ['vidB-2'] })
    expect((await remix(sourceId, { prompt: 'At night' }, other.text)).status).toBe(200)
  })
})

describe('400', () => {
  test('missing_parameter without a prompt', async () => {
    for (const body of [{}, { prompt: '' }, { prompt: '  ' }, { prompt: null }])
      expectProblem(await remix(sourceId, body), 'missing_parameter', 'prompt')
  })

  test('invalid_parameter for a size of another family and an invalid prompt', async () => {
    for (const size of ['16x9', 'large', '640x480'])
      expectProblem(await remix(sourceId, { prompt: 'a', size }), 'invalid_parameter', 'size')
    expectProblem(await remix(sourceId, { prompt: 7 }), 'invalid_parameter', 'prompt')
  })

  test('invalid_parameter on id for a video of family A', async () => {
    const { body } = await ask(`${gateway.url}/v1/videos`, key.text, {
      method: 'POST',
      body: form({
        ...{ model: 'vidA_3_1', prompt: 'A whale', seconds: '4', size: '16x9', input_reference: pixel },
      }),
    })
    const id = String(body['id'])
    await completeTask(gateway, accountId, id)
    expectProblem(await remix(id, { prompt: 'At night' }), 'invalid_parameter', 'id')
  })

  test('task_not_completed and task_failed for a source without a video', async () => {
    const id = await create()
    expectProblem(await remix(id, { prompt: 'At night' }), 'task_not_completed')
    const failed = await create()
    await endTask(gateway.database.postgres, failed, { kind: 'failed', code: 'upstream_error', message: '' })
    expectProblem(await remix(failed, { prompt: 'At night' }), 'task_failed')
  })

  test('invalid_request for a malformed body', async () => {
    expectProblem(await remix(sourceId, '{'), 'invalid_request')
  })
})

describe('402', () => {
  test('insufficient_balance leaves nothing behind', async () => {
    const { postgres } = gateway.database
    const account = await createAccount(postgres, { balance: 1 })
    const poor = await createKey(postgres, account)
    const id = await create({ prompt: 'A whale' }, poor.text)
    await completeTask(gateway, account, id)
    await remix(id, { prompt: 'At night' }, poor.text)
    const before = await recordOf(gateway)
    expectProblem(await remix(id, { prompt: 'At night' }, poor.text), 'insufficient_balance')
    expect(await recordOf(gateway)).toEqual(before)
  })

  test('subscription_expired', async () => {
    const { postgres } = gateway.database
    await subscribe(postgres, accountId, { endsAt: new Date(Date.now() - 1_000) })
    const { text } = await createKey(postgres, accountId, { kind: 'subscription' })
    expectProblem(await remix(sourceId, { prompt: 'At night' }, text), 'subscription_expired')
  })
})

describe('403', () => {
  test('model_access_denied for a key that may not use the model of the source', async () => {
    const { text } = await createKey(gateway.database.postgres, accountId, { models: ['vidB-2-pro'] })
    expectProblem(await remix(sourceId, { prompt: 'At night' }, text), 'model_access_denied', 'model')
  })
})

describe('404', () => {
  test('task_not_found for an unknown id and for a task of another account', async () => {
    const { postgres } = gateway.database
    const stranger = await createKey(postgres, await createAccount(postgres))
    expectProblem(await remix(sourceId, { prompt: 'a' }, stranger.text), 'task_not_found')
    for (const id of ['nonsense', 'vidB-2:1700000000-00abcdefghijkl'])
      expectProblem(await remix(id, { prompt: 'a' }), 'task_not_found')
  })
})

describe('410', () => {
  test('media_expired for an expired source', async () => {
    const id = await create()
    await completeTask(gateway, accountId, id, { expiresAt: new Date(Date.now() - 1_000) })
    expectProblem(await remix(id, { prompt: 'At night' }), 'media_expired')
  })
})

describe('502', () => {
  test('upstream_error before any hold if the provider of the source cannot remix it', async () => {
    const file = join(gateway.directory, 'providers.yaml')
    await writeFile(file, JSON.stringify({ providers: { other: { kind: 'local' } } }))
    await using moved = await startGateway({ PROVIDERS_FILE: file }, gateway)
    const before = await recordOf(gateway)
    const answer = await askJson(`${moved.url}/v1/videos/${sourceId}/remix`, key.text, { prompt: 'At night' })
    expectProblem(answer, 'upstream_error')
    expect(await recordOf(gateway)).toEqual(before)
  })
})

describe('the route', () => {
  test('stays with the provider of the source, whichever provider serves the model now', async () => {
    const file = join(gateway.directory, 'two-providers.yaml')
    const providers = { other: { kind: 'local' }, local: { kind: 'local' } }
    await writeFile(file, JSON.stringify({ providers, models: { 'vidB-2': { provider: 'other' } } }))
    await using two = await startGateway({ PROVIDERS_FILE: file }, gateway)
    const { body } = await askJson(`${two.url}/v1/videos/${sourceId}/remix`, key.text, { prompt: 'At night' })
    expect(await rowOf(body['id'])).toMatchObject({ provider: 'local' })
    const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
    const { body: created } = await askJson(`${two.url}/v1/videos`, key.text, order)
    expect(await rowOf(created['id'])).toMatchObject({ provider: 'other' })
  })
})

describe('200, value by value', () => {
  test.each(['720x1280', '1280x720', '480x480', '1080x1080'])('%s is a size of a remix', async (size) => {
    const { body } = await remix(sourceId, { prompt: 'At night', size })
    expect(await rowOf(body['id'])).toMatchObject({ order: { size } })
  })

  test('the id of a remix contains the model of its source, whichever endpoint created it', async () => {
    const { body: created } = await askJson(`${gateway.url}/v1/video/create`, key.text, {
      ...{ model: 'vidB-2-pro', prompt: 'A whale', images: [pixelUri] },
    })
    const id = String(created['id'])
    await completeTask(gateway, accountId, id)
    const { body } = await remix(id, { prompt: 'At night' })
    expect(body['id']).toMatch(/^vidB-2-pro:remix-\d{10}-[0-9A-Za-z]{14}$/)
  })
})
