import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { createModelTaskId } from '../../src/videos/task-id.ts'
import { ask, askJson, expectProblem, form } from '../kit/answers.ts'
import { completeTask, createAccount, createKey, endTask } from '../kit/factories.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startGateway({ PUBLIC_URL: 'https://videos.example' })
})
afterAll(() => gateway[Symbol.asyncDispose]())

const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }

const account = async () => {
  const accountId = await createAccount(gateway.database.postgres)
  const { text } = await createKey(gateway.database.postgres, accountId)
  return { accountId, text }
}
const create = async (text: string, more: object = {}) => {
  const answer = await askJson(`${gateway.url}/v1/videos`, text, { ...order, ...more })
  expect(answer.status).toBe(200)
  return String(answer.body['id'])
}
/** Many tasks, some of one second and some of different ones, oldest first. */
const createMany = async (text: string, count: number) => {
  const ids: string[] = []
  for (let index = 0; index < count; index += 1) ids.push(await create(text))
  const { rows } = await gateway.database.postgres.query<{ id: string }>(
    'select id from video_tasks where id = any($1) order by created_at, id',
    [ids],
  )
  return rows.map(({ id }) => id)
}
const list = (text: string, search = '', headers: Record<string, string> = {}) =>
  ask(`${gateway.url}/v1/videos${search}`, text, { headers })
const idsOf = ({ body }: { body: Record<string, unknown> }) =>
  (body['data'] as { id: string }[]).map(({ id }) => id)

describe('200', () => {
  test('an account without tasks has an empty list', async () => {
    const { text } = await account()
    expect((await list(text)).body).toEqual({
      object: 'list',
      data: [],
      has_more: false,
      first_id: null,
      last_id: null,
    })
  })

  test('a task is shown with all that every family has, and what the caller attached', async () => {
    const { accountId, text } = await account()
    const id = await create(text, { metadata: { project: 'sea', take: 3, final: false } })
    const { mediaId } = await completeTask(gateway, accountId, id)
    expect((await list(text)).body['data']).toEqual([
      {
        id,
        object: 'video',
        model: 'vidB-2',
        status: 'completed',
        progress: 100,
        created_at: expect.closeTo(Date.now() / 1000, -1),
        seconds: 4,
        size: '480x480',
        video_url: expect.stringContaining(`/media/${mediaId}/`),
        remixed_from_video_id: null,
        metadata: { project: 'sea', take: 3, final: false },
      },
    ])
  })

  test('metadata comes as JSON text in a form, and as text or object in JSON', async () => {
    const { text } = await account()
    const notes = { project: 'sea' }
    await create(text, { metadata: notes })
    await create(text, { metadata: JSON.stringify(notes) })
    const posted = await ask(`${gateway.url}/v1/videos`, text, {
      method: 'POST',
      body: form({ ...order, seconds: '4', metadata: JSON.stringify(notes) }),
    })
    expect(posted.status).toBe(200)
    expect(posted.headers.get('x-ignored-params')).toBeNull()
    const { body } = await list(text)
    expect((body['data'] as { metadata: unknown }[]).map(({ metadata }) => metadata)).toEqual([
      notes,
      notes,
      notes,
    ])
    const refused = await askJson(`${gateway.url}/v1/videos`, text, { ...order, metadata: '[1]' })
    expectProblem(refused, 'invalid_parameter', 'metadata')
  })

  test('a failed task says why, and a client that speaks openai reads its words', async () => {
    const { text } = await account()
    const failed = await create(text)
    await endTask(gateway.database.postgres, failed, {
      kind: 'failed',
      code: 'upstream_error',
      message: 'It broke.',
    })
    await create(text)
    const statuses = async (headers: Record<string, string>) => {
      const { body } = await list(text, '?order=asc', headers)
      return (body['data'] as { status: string }[]).map(({ status }) => status).toSorted()
    }
    expect(await statuses({})).toEqual(['failed', 'pending'])
    expect(await statuses({ 'x-api-dialect': 'openai' })).toEqual(['failed', 'queued'])
    const { body } = await list(text)
    expect(body['data']).toContainEqual(
      expect.objectContaining({ id: failed, error: { code: 'upstream_error', message: 'It broke.' } }),
    )
  })

  test.each(['asc', 'desc'])('pages in order %s show every task once', async (direction) => {
    const { text } = await account()
    const ids = await createMany(text, 7)
    const expected = direction === 'asc' ? ids : ids.toReversed()
    const seen: string[] = []
    for (let after = '', hasMore = true; hasMore;) {
      const search: string = `?limit=3&order=${direction}${after === '' ? '' : `&after=${after}`}`
      const page = await list(text, search)
      const pageIds = idsOf(page)
      expect(page.body).toMatchObject({ first_id: pageIds[0], last_id: pageIds.at(-1) })
      seen.push(...pageIds)
      after = String(page.body['last_id'])
      hasMore = page.body['has_more'] === true
    }
    expect(seen).toEqual(expected)
  })

  test('newest first, and twenty where no limit is given', async () => {
    const { text } = await account()
    const ids = await createMany(text, 21)
    const page = await list(text)
    expect(idsOf(page)).toEqual(ids.toReversed().slice(0, 20))
    expect(page.body['has_more']).toBe(true)
  })

  test('a page goes on after a task that was deleted meanwhile', async () => {
    const { text } = await account()
    const ids = await createMany(text, 3)
    const [oldest = '', middle = ''] = ids
    await endTask(gateway.database.postgres, middle, { kind: 'failed', code: 'task_timeout', message: '' })
    await ask(`${gateway.url}/v1/videos/${middle}`, text, { method: 'DELETE' })
    expect(idsOf(await list(text, `?after=${middle}`))).toEqual([oldest])
  })

  test("nobody sees another account's tasks, whatever they page after", async () => {
    const one = await account()
    const other = await account()
    const foreign = await create(other.text)
    const own = await create(one.text)
    expect(idsOf(await list(one.text))).toEqual([own])
    expect(idsOf(await list(one.text, `?after=${foreign}&order=asc`))).not.toContain(foreign)
  })
})

describe('400 invalid_parameter', () => {
  test.each([
    ['limit', '?limit=0'],
    ['limit', '?limit=101'],
    ['limit', '?limit=many'],
    ['limit', '?limit=1&limit=2'],
    ['order', '?order=sideways'],
    ['after', '?after=nonsense'],
    ['after', '?after=video_123'],
  ])('%s in %s', async (param, search) => {
    const { text } = await account()
    expectProblem(await list(text, search), 'invalid_parameter', param)
  })

  test('the id of no task is a place in time like any other', async () => {
    const { text } = await account()
    expect((await list(text, `?after=${createModelTaskId('vidB-2', Date.now())}`)).status).toBe(200)
  })
})
