import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { deleteKey } from '../../src/auth/key-store.ts'
import { markProcessing } from '../../src/tasks/task-store.ts'
import { createModelTaskId, createUuidTaskId, dayOfTaskId } from '../../src/videos/task-id.ts'
import { videoTables } from '../../src/videos/task.ts'
import { ask, askJson, expectProblem, pixelUri, type Answer, withoutRequestId } from '../kit/answers.ts'
import { completeTask, createAccount, createKey, endTask, subscribe, type TestKey } from '../kit/factories.ts'
import { shownVideo } from '../kit/shown-video.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let accountId: string
let key: TestKey

beforeAll(async () => {
  gateway = await startGateway({ PUBLIC_URL: 'https://videos.example' })
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const familyB = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '1280x720' }
const familyA = { model: 'vidA_3_1', prompt: 'A whale', seconds: 5, size: '16x9', input_reference: pixelUri }

const create = async (order: object, text = key.text): Promise<string> => {
  const answer = await askJson(`${gateway.url}/v1/videos`, text, order)
  expect(answer.status).toBe(200)
  return String(answer.body['id'])
}

const read = (
  id: string,
  { text = key.text, headers = {}, path = '/v1/videos', method = 'GET' } = {},
): Promise<Answer> => ask(`${gateway.url}${path}/${id}`, text, { headers, method })

const begin = (id: string) =>
  markProcessing(gateway.database.postgres, videoTables, [{ day: dayOfTaskId(id) ?? '', id }])
const progressTo = (id: string, progress: number) =>
  gateway.database.postgres.query('update video_tasks set progress = $2 where id = $1', [id, progress])

describe('200', () => {
  test('a task of family B has exactly the fields of a video', async () => {
    const id = await create(familyB)
    const answer = await read(id)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual(shownVideo({ id, model: 'vidB-2', seconds: 4, size: '1280x720' }))
  })

  test('a task of family A has exactly the fields of a video and is pending, although its creation returned queued', async () => {
    const id = await create(familyA)
    const answer = await read(id)
    expect(answer.body).toEqual(shownVideo({ id, model: 'vidA_3_1', seconds: 5, size: '16x9' }))
  })

  test('an id is accepted with its colon raw, percent-encoded, and with a trailing slash', async () => {
    const id = await create(familyB)
    for (const form of [id, encodeURIComponent(id), id.replace(':', '%3a'), `${id}/`]) {
      expect((await read(form)).body).toMatchObject({ id })
    }
  })

  test('HEAD returns the headers of GET without the body', async () => {
    const id = await create(familyB)
    const got = await read(id)
    const headed = await read(id, { method: 'HEAD' })
    expect(headed.status).toBe(200)
    expect(headed.body).toEqual({})
    expect(headed.headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(headed.headers.get('content-length')).toBe(got.headers.get('content-length'))
    expect(headed.headers.get('openai-poll-after-ms')).toBe('1000')
  })

  test('a processing task has its progress and a hint for the next poll', async () => {
    const id = await create(familyA)
    await begin(id)
    await progressTo(id, 42)
    const answer = await read(id)
    expect(answer.body).toMatchObject({ status: 'processing', progress: 42, video_url: null })
    expect(answer.body).not.toHaveProperty('error')
    expect(answer.headers.get('openai-poll-after-ms')).toBe('1000')
    expect(answer.headers.get('x-media-expires-at')).toBeNull()
  })

  test.each([
    ['A', familyA],
    ['B', familyB],
  ])('a completed task of family %s has a link and the expiry of the video', async (_, order) => {
    const id = await create(order)
    const video = await completeTask(gateway, accountId, id)
    const answer = await read(id)
    expect(answer.body).toMatchObject({ status: 'completed', progress: 100 })
    expect(answer.body).not.toHaveProperty('error')
    expect(answer.body['video_url']).toMatch(
      new RegExp(
        `^https://videos\\.example/media/${video.mediaId}/video\\.mp4\\?expires=\\d{10}&key=[0-9a-f]{8}&signature=[\\w-]{43}$`,
      ),
    )
    expect(answer.headers.get('x-media-expires-at')).toBe(video.expiresAt.toISOString())
    expect(answer.headers.get('openai-poll-after-ms')).toBeNull()
    const { pathname, search } = new URL(String(answer.body['video_url']))
    const download = await fetch(`${gateway.url}${pathname}${search}`)
    expect(Buffer.from(await download.arrayBuffer())).toEqual(video.bytes)
  })

  test.each([
    ['A', familyA],
    ['B', familyB],
  ])('a failed task of family %s has an error and its last progress', async (_, order) => {
    const id = await create(order)
    await begin(id)
    await progressTo(id, 61)
    await endTask(gateway.database.postgres, id, {
      kind: 'failed',
      code: 'upstream_error',
      message: 'It broke.',
    })
    const answer = await read(id)
    expect(answer.body).toMatchObject({
      status: 'failed',
      progress: 61,
      video_url: null,
      error: { code: 'upstream_error', message: 'It broke.' },
    })
    expect(Object.keys(answer.body['error'] as object)).toEqual(['code', 'message'])
    expect(answer.headers.get('openai-poll-after-ms')).toBeNull()
  })

  test('status_update_time is the time of the last change of status, not of progress', async () => {
    const { postgres } = gateway.database
    const id = await create(familyA)
    await begin(id)
    await postgres.query(`update video_tasks set status_updated_at = '2020-01-01T00:00:00Z' where id = $1`, [
      id,
    ])
    await progressTo(id, 30)
    expect((await read(id)).body).toMatchObject({ status_update_time: 1_577_836_800 })
  })

  test('the openai dialect has other names for the first two states', async () => {
    const [queued, running, completed, failed] = await Promise.all(
      [familyB, familyA, familyB, familyA].map((order) => create(order)),
    )
    await begin(String(running))
    await completeTask(gateway, accountId, String(completed))
    await endTask(gateway.database.postgres, String(failed), {
      kind: 'failed',
      code: 'task_timeout',
      message: 'Late.',
    })
    const expected = [
      [queued, 'queued', 'pending'],
      [running, 'in_progress', 'processing'],
      [completed, 'completed', 'completed'],
      [failed, 'failed', 'failed'],
    ] as const
    const ofDialect = await createKey(gateway.database.postgres, accountId)
    await gateway.database.postgres.query(`update keys set dialect = 'openai' where id = $1`, [ofDialect.id])
    for (const [id, openai, reference] of expected) {
      const statusWith = async (options: Parameters<typeof read>[1]) =>
        (await read(String(id), options)).body['status']
      expect(await statusWith({})).toBe(reference)
      expect(await statusWith({ headers: { 'x-api-dialect': 'openai' } })).toBe(openai)
      expect(await statusWith({ headers: { 'x-stainless-poll-helper': 'true' } })).toBe(openai)
      expect(await statusWith({ path: '/openai/v1/videos' })).toBe(openai)
      expect(await statusWith({ text: ofDialect.text })).toBe(openai)
      expect(await statusWith({ text: ofDialect.text, headers: { 'x-api-dialect': 'reference' } })).toBe(
        reference,
      )
    }
  })

  test('every active key of the account can read the task, even after its own key was deleted', async () => {
    const { postgres } = gateway.database
    const creator = await createKey(postgres, accountId)
    const id = await create(familyB, creator.text)
    await deleteKey(postgres, creator.id)
    await expect.poll(async () => (await read(id, { text: creator.text })).status).toBe(401)
    expect((await read(id)).body).toMatchObject({ id })
    const restricted = await createKey(postgres, accountId, { models: ['asr-1'] })
    expect((await read(id, { text: restricted.text })).body).toMatchObject({ id })
  })

  test('a task can be read with a used-up quota, an ended subscription and no balance', async () => {
    const { postgres } = gateway.database
    const account = await createAccount(postgres, { balance: 0.4 })
    await subscribe(postgres, account, { quota: 0, endsAt: new Date(Date.now() - 1_000) })
    const id = await create(familyB, (await createKey(postgres, account)).text)
    const readers = await Promise.all([
      createKey(postgres, account),
      createKey(postgres, account, { quotaMicros: 0 }),
      createKey(postgres, account, { kind: 'subscription' }),
    ])
    for (const { text } of readers)
      expect((await read(id, { text })).body).toMatchObject({ id, status: 'pending' })
  })

  test('a client may poll at any rate and sees the end', async () => {
    const id = await create(familyB)
    for (let reads = 0; reads < 50; reads += 1) expect((await read(id)).status).toBe(200)
    await completeTask(gateway, accountId, id)
    await expect.poll(async () => (await read(id)).body['status'], { interval: 20 }).toBe('completed')
  })

  test('unknown query parameters are ignored, even if repeated', async () => {
    const id = await create(familyB)
    expect((await read(`${id}?a=1&a=2&expires=3`)).body).toMatchObject({ id })
  })
})

describe('403 account_suspended', () => {
  test('a suspended account cannot read its tasks until it is active again', async () => {
    const { postgres } = gateway.database
    const account = await createAccount(postgres)
    const { text } = await createKey(postgres, account)
    const id = await create(familyB, text)
    const setStatus = (status: string) =>
      postgres.query('update accounts set status = $2 where id = $1', [account, status])
    await setStatus('suspended')
    await expect.poll(async () => (await read(id, { text })).status).toBe(403)
    expectProblem(await read(id, { text }), 'account_suspended')
    await setStatus('active')
    await expect.poll(async () => (await read(id, { text })).status).toBe(200)
  })
})

describe('404 task_not_found', () => {
  test('an unknown id, a task of another account and a malformed id get the same response', async () => {
    const { postgres } = gateway.database
    const stranger = await createKey(postgres, await createAccount(postgres))
    const foreignB = await create(familyB, stranger.text)
    const foreignA = await create(familyA, stranger.text)
    const bodies = new Set<string>()
    for (const id of [
      foreignA,
      foreignB,
      createUuidTaskId(Date.now()),
      createModelTaskId('vidB-2', Date.now()),
      // Ids of days without a partition.
      createUuidTaskId(0),
      createUuidTaskId(2 ** 48 - 1),
      'vidB-2:9999999999-00aaaaaaaaaaaa',
      'vidB-2:0000000000-00aaaaaaaaaaaa',
      'vidB-2:remix-1700000000-00aaaaaaaaaaaa',
      'video_',
      'video_not-a-uuid',
      'vidB-2:',
      'nonsense',
      '%00',
      '%F0%9F%90%8B',
      `${foreignB}%0A`,
      "'%3B drop table video_tasks",
      'a'.repeat(1_000),
    ]) {
      const answer = await read(id)
      expectProblem(answer, 'task_not_found')
      const { message, ...error } = answer.body['error'] as Record<string, unknown>
      const shown = decodeURIComponent(id).slice(0, 60)
      expect(message).toBe(`There is no task '${shown}' in the account of this key.`)
      bodies.add(JSON.stringify(withoutRequestId({ ...answer.body, error })))
    }
    expect(bodies.size).toBe(1)
    expect((await read(foreignB, { text: stranger.text })).status).toBe(200)
  })
})

describe('200, state by state', () => {
  const states: [string, number, (id: string) => Promise<unknown>][] = [
    ['pending', 0, () => Promise.resolve()],
    ['processing', 0, (id) => begin(id)],
    ['completed', 100, (id) => completeTask(gateway, accountId, id)],
    [
      'failed',
      0,
      (id) =>
        endTask(gateway.database.postgres, id, {
          kind: 'failed',
          code: 'upstream_error',
          message: 'Broken.',
        }),
    ],
  ]
  const linkOnce = (status: string): unknown =>
    status === 'completed' ? expect.stringMatching(/^https:\/\/videos\.example\//) : null
  const errorOnce = (status: string) =>
    status === 'failed' && { error: { code: 'upstream_error', message: 'Broken.' } }

  test.each(states)('%s: exactly the fields of a video, in family A', async (status, progress, move) => {
    const id = await create(familyA)
    await move(id)
    const { body } = await read(id)
    expect(body).toEqual(
      shownVideo({
        ...{ id, status, progress, video_url: linkOnce(status) },
        ...{ model: 'vidA_3_1', seconds: 5, size: '16x9' },
        ...errorOnce(status),
      }),
    )
    expect(Number.isInteger(body['status_update_time'])).toBe(true)
  })

  test.each(states)('%s: exactly the fields of a video, in family B', async (status, progress, move) => {
    const id = await create(familyB)
    await move(id)
    expect((await read(id)).body).toEqual(
      shownVideo({
        ...{ id, status, progress, video_url: linkOnce(status) },
        ...{ model: 'vidB-2', seconds: 4, size: '1280x720' },
        ...errorOnce(status),
      }),
    )
  })
})
