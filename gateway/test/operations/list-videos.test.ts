import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { createModelTaskId } from '../../src/videos/task-id.ts'
import { ask, askJson, expectProblem, form } from '../kit/answers.ts'
import { completeTask, createAccount, createKey, endTask, subscribe } from '../kit/factories.ts'
import { shownVideo } from '../kit/shown-video.ts'
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
/** Creates many tasks, some of them in the same second; oldest first. */
const createMany = async (text: string, count: number) => {
  const ids: string[] = []
  for (let index = 0; index < count; index += 1) ids.push(await create(text))
  return ids
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

  test('a listed task has the fields of all families and its metadata', async () => {
    const { accountId, text } = await account()
    const id = await create(text, { metadata: { project: 'sea', take: 3, final: false } })
    const { mediaId } = await completeTask(gateway, accountId, id)
    expect((await list(text)).body['data']).toEqual([
      shownVideo({
        ...{ id, model: 'vidB-2', status: 'completed', progress: 100, seconds: 4, size: '480x480' },
        video_url: expect.stringContaining(`/media/${mediaId}/`),
        metadata: { project: 'sea', take: 3, final: false },
      }),
    ])
  })

  test('metadata is accepted as JSON text in a form, and as text or an object in JSON', async () => {
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

  test('a failed task has its error, and the openai dialect has its own status names', async () => {
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

  test.each(['asc', 'desc'])('pages in order %s list every task once', async (direction) => {
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

  test('following the list from its end misses no task, even with many in the same second', async () => {
    const { text } = await account()
    let last = await create(text)
    for (let count = 0; count < 20; count += 1) {
      const next = await create(text)
      expect(idsOf(await list(text, `?order=asc&after=${last}`))).toEqual([next])
      last = next
    }
  })

  test('following the list misses no task created concurrently by another process or from another wallet', async () => {
    await using other = await startGateway({}, gateway)
    const { accountId, text } = await account()
    await subscribe(gateway.database.postgres, accountId)
    const subscriber = await createKey(gateway.database.postgres, accountId, { kind: 'subscription' })
    const first = await create(text)
    let isOver = false
    const follow = async () => {
      const seen: string[] = []
      for (let after = first, wasOver = false; ;) {
        const page = idsOf(await list(text, `?order=asc&limit=100&after=${after}`))
        seen.push(...page)
        after = page.at(-1) ?? after
        if (wasOver && page.length === 0) return seen
        wasOver = isOver
      }
    }
    const following = follow()
    const createAt = async (url: string, by: string) => {
      const answer = await askJson(`${url}/v1/videos`, by, order)
      expect(answer.status).toBe(200)
      return String(answer.body['id'])
    }
    const created: string[] = []
    for (let round = 0; round < 20; round += 1) {
      const both = [gateway.url, other.url].flatMap((url) =>
        [text, subscriber.text].map((by) => ({ url, by })),
      )
      created.push(...(await Promise.all(both.map(({ url, by }) => createAt(url, by)))))
    }
    isOver = true
    const seen = await following
    expect(seen.toSorted()).toEqual(created.toSorted())
  })

  test.each(['asc', 'desc'])(
    'tasks of the same microsecond are paged by id, in order %s',
    async (direction) => {
      const { text } = await account()
      await createMany(text, 5)
      await gateway.database.postgres.query(
        `update video_tasks set created_at = (select min(created_at) from video_tasks where account_id = k.account_id)
         from keys k where k.account_id = video_tasks.account_id and video_tasks.id = any($1)`,
        [idsOf(await list(text))],
      )
      const expected = idsOf(await list(text, `?order=${direction}`))
      const seen: string[] = []
      for (const _ of expected) {
        const after = seen.at(-1)
        const page = await list(
          text,
          `?limit=1&order=${direction}${after === undefined ? '' : `&after=${after}`}`,
        )
        seen.push(...idsOf(page))
      }
      expect(seen).toEqual(expected)
      expect(new Set(seen).size).toBe(5)
    },
  )

  test('the default is newest first and a limit of twenty', async () => {
    const { text } = await account()
    const ids = await createMany(text, 21)
    const page = await list(text)
    expect(idsOf(page)).toEqual(ids.toReversed().slice(0, 20))
    expect(page.body['has_more']).toBe(true)
  })

  test('a page continues at the position of a task that was deleted in the meantime', async () => {
    const { text } = await account()
    const ids = await createMany(text, 9)
    const middle = String(ids[4])
    await endTask(gateway.database.postgres, middle, { kind: 'failed', code: 'task_timeout', message: '' })
    await ask(`${gateway.url}/v1/videos/${middle}`, text, { method: 'DELETE' })
    expect(idsOf(await list(text, `?after=${middle}`))).toEqual(ids.slice(0, 4).toReversed())
    expect(idsOf(await list(text, `?order=asc&after=${middle}`))).toEqual(ids.slice(5))
  })

  test('after an unknown id, all tasks of its second are listed', async () => {
    const { text } = await account()
    const [id = ''] = await createMany(text, 1)
    const unknown = id.replace(/-[^-]+$/, '-00unknown00000')
    expect(idsOf(await list(text, `?after=${unknown}`))).toEqual([id])
    expect(idsOf(await list(text, `?order=asc&after=${unknown}`))).toEqual([id])
  })

  test('tasks of other accounts are never listed, whatever the cursor', async () => {
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
    // The last millisecond of the year 9999, the latest time that the database can read.
    ['after', '?after=video_e677d21f-dbff-7000-8000-000000000000'],
  ])('%s in %s', async (param, search) => {
    const { text } = await account()
    expectProblem(await list(text, search), 'invalid_parameter', param)
  })

  test('an unknown id is a valid cursor', async () => {
    const { text } = await account()
    expect((await list(text, `?after=${createModelTaskId('vidB-2', Date.now())}`)).status).toBe(200)
  })
})

describe('filters', () => {
  test('by status in the names of either dialect, one or several', async () => {
    const { accountId, text } = await account()
    const pending = await create(text)
    const failed = await create(text)
    await endTask(gateway.database.postgres, failed, {
      ...{ kind: 'failed', code: 'upstream_error', message: 'no' },
    })
    const completed = await create(text)
    await completeTask(gateway, accountId, completed)
    expect(idsOf(await list(text, '?status=pending'))).toEqual([pending])
    expect(idsOf(await list(text, '?status=queued'))).toEqual([pending])
    expect(idsOf(await list(text, '?status=in_progress'))).toEqual([])
    expect(idsOf(await list(text, '?status=completed,failed'))).toEqual([completed, failed])
    const page = await list(text, `?status=completed,failed&limit=1`)
    expect(page.body).toMatchObject({ has_more: true, last_id: completed })
    expect(idsOf(await list(text, `?status=completed,failed&after=${completed}`))).toEqual([failed])
    expectProblem(await list(text, '?status=lost'), 'invalid_parameter', 'status')
  })

  test('by model, key and time of creation', async () => {
    const { accountId, text } = await account()
    const { id: keyId, text: other } = await createKey(gateway.database.postgres, accountId)
    const old = await create(text)
    const byOther = await create(other)
    await gateway.database.postgres.query(
      `update video_tasks set created_at = now() - interval '1 hour' where id = $1`,
      [old],
    )
    const halfAnHourAgo = Math.floor(Date.now() / 1000) - 1_800
    expect(idsOf(await list(text, `?created_after=${halfAnHourAgo}`))).toEqual([byOther])
    expect(idsOf(await list(text, `?created_before=${halfAnHourAgo}`))).toEqual([old])
    expect(idsOf(await list(text, `?key_id=${keyId}`))).toEqual([byOther])
    expect(idsOf(await list(text, '?model=vidB-2'))).toEqual([byOther, old])
    expect(idsOf(await list(text, '?model=vidA_3_1'))).toEqual([])
    expect(idsOf(await list(text, `?model=vidB-2&key_id=${keyId}&status=pending&order=asc`))).toEqual([
      byOther,
    ])
    expectProblem(await list(text, '?key_id=mine'), 'invalid_parameter', 'key_id')
    expectProblem(await list(text, '?created_after=today'), 'invalid_parameter', 'created_after')
  })

  test('by text in the prompt, in upper or lower case, and literally', async () => {
    const { text } = await account()
    const whale = await create(text, { prompt: 'Ein WAL im Meer: 100 %_' })
    await create(text, { prompt: 'A crab' })
    for (const q of ['wal', 'WAL im', '100 %_']) {
      expect(idsOf(await list(text, `?q=${encodeURIComponent(q)}`))).toEqual([whale])
    }
    expect(idsOf(await list(text, `?q=${encodeURIComponent('w%l')}`))).toEqual([])
    expect(idsOf(await list((await account()).text, '?q=wal'))).toEqual([])
    expectProblem(await list(text, '?q=a%00'), 'invalid_parameter', 'q')
  })
})

describe('details', () => {
  test('are what a row shows besides the video, in both dialects, and only if requested', async () => {
    const { accountId, text } = await account()
    const waiting = await create(text)
    const done = await create(text)
    const { expiresAt } = await completeTask(gateway, accountId, done)
    const { body } = await list(text, '?include=details')
    const common = { prompt: 'A whale', currency: 'USD', hold_micros: expect.any(Number) }
    const expected = [
      {
        ...common,
        ...{ captured_micros: expect.any(Number), completed_at: expect.any(Number) },
        expires_at: Math.floor(expiresAt.getTime() / 1000),
        variants: ['video', 'thumbnail', 'spritesheet'],
      },
      {
        ...common,
        ...{ captured_micros: null, completed_at: null, expires_at: null, variants: [] },
        queue_position: { min: expect.any(Number), max: expect.any(Number) },
      },
    ]
    expect(body['data']).toMatchObject([
      { id: done, details: expected[0] },
      { id: waiting, details: expected[1] },
    ])
    const openai = await ask(`${gateway.url}/openai/v1/videos?include=details`, text)
    expect(openai.body['data']).toMatchObject([
      { id: done, seconds: '4', details: expected[0] },
      { id: waiting, status: 'queued', details: expected[1] },
    ])
    for (const row of (await list(text)).body['data'] as object[]) expect(row).not.toHaveProperty('details')
    expectProblem(await list(text, '?include=everything'), 'invalid_parameter', 'include')
  })

  test('have no files once the video has expired', async () => {
    const { accountId, text } = await account()
    const id = await create(text)
    await completeTask(gateway, accountId, id, { expiresAt: new Date(Date.now() - 1_000) })
    expect((await list(text, '?include=details')).body['data']).toMatchObject([{ details: { variants: [] } }])
  })
})
