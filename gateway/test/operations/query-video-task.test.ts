import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { createLog } from '../../src/platform/log.ts'
import { postgresPubsub } from '../../src/platform/pubsub.ts'
import { markProcessing } from '../../src/tasks/task-store.ts'
import { recordPolls } from '../../src/videos/polling/poll-store.ts'
import { createModelTaskId, dayOfTaskId } from '../../src/videos/task-id.ts'
import { videoTables } from '../../src/videos/task.ts'
import { ask, askJson, expectProblem, pixelUri } from '../kit/answers.ts'
import { completeTask, createAccount, createKey, endTask, type TestKey } from '../kit/factories.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let accountId: string
let key: TestKey

beforeAll(async () => {
  // Without Redis, notifications go through the database, so that tests can send them.
  gateway = await startGateway({ PUBLIC_URL: 'https://videos.example', REDIS_URL: '' })
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const familyA = { model: 'vidA3', prompt: 'A whale' }
const create = async (order: object = familyA, path = '/v1/video/create') => {
  const answer = await askJson(`${gateway.url}${path}`, key.text, order)
  expect(answer.status).toBe(200)
  return String(answer.body['id'])
}
const query = (id: string, headers: Record<string, string> = {}, more = '') =>
  ask(`${gateway.url}/v1/video/query?id=${encodeURIComponent(id)}${more}`, key.text, { headers })

const notify = (id: string) =>
  postgresPubsub(gateway.database.postgres, createLog({ level: 'silent' }, 'test')).publish([id])
const begin = async (id: string) => {
  await markProcessing(gateway.database.postgres, videoTables, [{ day: dayOfTaskId(id) ?? '', id }])
  notify(id)
}
const progressTo = async (id: string, progress: number) => {
  const day = dayOfTaskId(id) ?? ''
  await recordPolls(gateway.database.postgres, [
    { taskId: id, day, nextPollMs: 60_000, progress, outcome: null },
  ])
  notify(id)
}

/** The longest allowed wait. A response that comes sooner did not wait for its end. */
const longSeconds = 60

/** The response and how long it took. */
const timed = async (answering: ReturnType<typeof query>) => {
  const startedMs = performance.now()
  const answer = await answering
  return { answer, ms: performance.now() - startedMs }
}

describe('200', () => {
  test('a task of either family has exactly the five fields', async () => {
    for (const [order, path] of [
      [familyA, '/v1/video/create'],
      [{ model: 'vidB-2', prompt: 'A whale', images: [pixelUri] }, '/v1/video/create'],
      [{ model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }, '/v1/videos'],
    ] as const) {
      const id = await create(order, path)
      const answer = await query(id)
      expect(answer.status).toBe(200)
      expect(answer.body).toEqual({
        id,
        status: 'pending',
        video_url: null,
        enhanced_prompt: 'A whale',
        status_update_time: expect.closeTo(Date.now() / 1000, -1),
      })
    }
  })

  test('a task created with /v1/video/create can be read under /v1/videos, in the shape of its family', async () => {
    const id = await create()
    const { body } = await ask(`${gateway.url}/v1/videos/${id}`, key.text)
    const reference = ['id', 'status', 'progress', 'video_url', 'enhanced_prompt', 'status_update_time']
    expect(Object.keys(body)).toEqual(expect.arrayContaining(reference))
  })

  test('a completed task has its link', async () => {
    const id = await create()
    const { mediaId, expiresAt } = await completeTask(gateway, accountId, id)
    const answer = await query(id)
    expect(answer.body['status']).toBe('completed')
    expect(answer.body['video_url']).toContain(`https://videos.example/media/${mediaId}/video.mp4?`)
    expect(answer.headers.get('x-media-expires-at')).toBe(expiresAt.toISOString())
    expect(answer.headers.get('retry-after')).toBeNull()
  })

  test('a failed task has its error', async () => {
    const id = await create()
    await endTask(gateway.database.postgres, id, {
      kind: 'failed',
      code: 'task_timeout',
      message: 'Too late.',
    })
    expect((await query(id)).body).toMatchObject({
      status: 'failed',
      video_url: null,
      error: { code: 'task_timeout', message: 'Too late.' },
    })
  })

  test('dialects do not change its status names', async () => {
    const id = await create()
    expect((await query(id, { 'x-api-dialect': 'openai' })).body['status']).toBe('pending')
  })

  test('an unfinished task has a hint for the next poll: short at first, longer in between', async () => {
    const { postgres } = gateway.database
    const id = await create()
    const young = await query(id)
    expect(young.headers.get('openai-poll-after-ms')).toBe('1000')
    expect(young.headers.get('x-poll-after')).toBe('1')
    expect(young.headers.get('retry-after')).toBe('1')
    const older = await create()
    await postgres.query(
      `update video_tasks set created_at = now() - interval '35 seconds', progress = 40 where id = $1`,
      [older],
    )
    const { headers } = await query(older)
    expect(Number(headers.get('openai-poll-after-ms'))).toBeGreaterThan(3_400)
    expect(headers.get('retry-after')).toBe('4')
    expect(Number(headers.get('x-poll-after')) * 1000).toBe(Number(headers.get('openai-poll-after-ms')))
  })
})

describe('200, after a wait', () => {
  test('a wait is for the final state, whatever changes before', async () => {
    for (const options of [
      { headers: { prefer: `wait=${longSeconds}` } },
      { more: `&wait=${longSeconds}` },
    ]) {
      const id = await create()
      const waiting = timed(query(id, options.headers, options.more))
      await query(id)
      await begin(id)
      await progressTo(id, 10)
      await expect.poll(async () => (await query(id)).body['status']).toBe('processing')
      await completeTask(gateway, accountId, id)
      notify(id)
      const { answer, ms } = await waiting
      expect(answer.body['status']).toBe('completed')
      expect(ms).toBeLessThan(longSeconds * 1_000)
    }
  })

  test('a failed task ends a wait as well', async () => {
    const id = await create()
    const waiting = query(id, { prefer: `wait=${longSeconds}` })
    await query(id)
    await endTask(gateway.database.postgres, id, { kind: 'failed', code: 'task_timeout', message: 'Late.' })
    notify(id)
    expect((await waiting).body['status']).toBe('failed')
  })

  test('the response names the preferences that were applied', async () => {
    const id = await create()
    const appliedTo = async (headers: Record<string, string>, more = '') =>
      (await query(id, headers, more)).headers.get('preference-applied')
    expect(await appliedTo({ prefer: 'wait=1' })).toBe('wait=1')
    expect(await appliedTo({ prefer: 'wait=1, until=change' })).toBe('wait=1, until=change')
    expect(await appliedTo({}, '&wait=1')).toBeNull()
    await endTask(gateway.database.postgres, id, { kind: 'failed', code: 'task_timeout', message: 'Late.' })
    expect(await appliedTo({ prefer: `wait=9999` })).toBe('wait=60')
  })

  test('a wait for a change ends when the status changes', async () => {
    const id = await create()
    const waiting = timed(query(id, {}, `&wait=${longSeconds}&until=change`))
    await query(id)
    await begin(id)
    const { answer, ms } = await waiting
    expect(answer.body['status']).toBe('processing')
    expect(ms).toBeLessThan(longSeconds * 1_000)
  })

  test('the next progress and the end count as changes, and earlier events do not', async () => {
    const id = await create()
    await begin(id)
    await progressTo(id, 10)
    const read = (headers: Record<string, string>) =>
      timed(ask(`${gateway.url}/v1/videos/${id}`, key.text, { headers }))
    const next = read({ prefer: `respond-async, wait=${longSeconds}, until=change` })
    await query(id)
    await progressTo(id, 20)
    expect((await next).answer.body).toMatchObject({ status: 'processing', progress: 20 })
    const end = read({ prefer: `wait=${longSeconds}, until=change` })
    await query(id)
    await completeTask(gateway, accountId, id)
    notify(id)
    const { answer, ms } = await end
    expect(answer.body['status']).toBe('completed')
    expect(ms).toBeLessThan(longSeconds * 1_000)
  })

  test('a change without a notification ends a wait as well', async () => {
    const id = await create()
    const waiting = timed(query(id, { prefer: `wait=${longSeconds}, until=change` }))
    await query(id)
    await markProcessing(gateway.database.postgres, videoTables, [{ day: dayOfTaskId(id) ?? '', id }])
    const { answer, ms } = await waiting
    expect(answer.body['status']).toBe('processing')
    expect(ms).toBeLessThan(longSeconds * 1_000)
  })

  test('when the time is up, the current state is returned', async () => {
    const id = await create()
    const { answer, ms } = await timed(query(id, { prefer: 'wait=1' }))
    expect(answer.body['status']).toBe('pending')
    expect(ms).toBeGreaterThan(900)
  })

  test('a task that has ended and an outdated ETag do not wait', async () => {
    const id = await create()
    expect(
      (await timed(query(id, { prefer: `wait=${longSeconds}, until=change`, 'if-none-match': '"older"' })))
        .ms,
    ).toBeLessThan(longSeconds * 1_000)
    await endTask(gateway.database.postgres, id, { kind: 'failed', code: 'task_timeout', message: 'Late.' })
    expect((await timed(query(id, { prefer: `wait=${longSeconds}` }))).ms).toBeLessThan(longSeconds * 1_000)
  })

  test('a server that shuts down ends all waits', async () => {
    const other = await startGateway({}, gateway)
    const id = await create()
    const waiting = timed(
      ask(`${other.url}/v1/video/query?id=${id}`, key.text, { headers: { prefer: `wait=${longSeconds}` } }),
    )
    await ask(`${other.url}/v1/video/query?id=${id}`, key.text)
    await other[Symbol.asyncDispose]()
    const { answer, ms } = await waiting
    expect(answer.body['status']).toBe('pending')
    expect(ms).toBeLessThan(longSeconds * 1_000)
  })
})

describe('304', () => {
  test('a client with the current ETag, until the task changes', async () => {
    const id = await create()
    const etag = String((await query(id)).headers.get('etag'))
    expect(etag).toMatch(/^W\/"[\w-]{22}"$/)
    for (const known of [etag, etag.slice(2), `"other", ${etag}`, '*']) {
      const answer = await query(id, { 'if-none-match': known })
      expect(answer.status).toBe(304)
      expect(answer.body).toEqual({})
      expect(answer.headers.get('etag')).toBe(etag)
      expect(answer.headers.get('openai-poll-after-ms')).toBe('1000')
    }
    expect((await query(id, { 'if-none-match': '"other"' })).status).toBe(200)
    await begin(id)
    await expect.poll(async () => (await query(id, { 'if-none-match': etag })).status).toBe(200)
  })

  test('a wait that ends without a change', async () => {
    const id = await create()
    const etag = String((await query(id)).headers.get('etag'))
    expect((await query(id, { 'if-none-match': etag, prefer: 'wait=1' })).status).toBe(304)
  })

  test('an ETag of one dialect does not match the other', async () => {
    const id = await create()
    const read = (headers: Record<string, string>) =>
      ask(`${gateway.url}/v1/videos/${id}`, key.text, { headers })
    const etag = String((await read({})).headers.get('etag'))
    const answer = await read({ 'if-none-match': etag, 'x-api-dialect': 'openai' })
    expect(answer.body['status']).toBe('queued')
  })
})

describe('400 missing_parameter', () => {
  test('a query without an id', async () => {
    for (const search of ['', '?id=', '?other=1']) {
      expectProblem(await ask(`${gateway.url}/v1/video/query${search}`, key.text), 'missing_parameter', 'id')
    }
  })
})

describe('400 invalid_parameter', () => {
  test('until=tomorrow', async () => {
    const id = await create()
    expectProblem(await query(id, {}, '&wait=1&until=tomorrow'), 'invalid_parameter', 'until')
  })

  test.each(['-1', '61', 'soon', '1.5'])('wait=%s', async (wait) => {
    const id = await create()
    expectProblem(await query(id, {}, `&wait=${wait}`), 'invalid_parameter', 'wait')
    expectProblem(
      await ask(`${gateway.url}/v1/videos/${id}?wait=${wait}`, key.text),
      'invalid_parameter',
      'wait',
    )
  })

  test('a repeated id', async () => {
    expectProblem(await ask(`${gateway.url}/v1/video/query?id=a&id=b`, key.text), 'invalid_parameter', 'id')
  })
})

describe('404 task_not_found', () => {
  test('unknown ids, malformed ids and tasks of another account', async () => {
    const { postgres } = gateway.database
    const stranger = await createKey(postgres, await createAccount(postgres))
    const foreign = await askJson(`${gateway.url}/v1/video/create`, stranger.text, familyA)
    for (const id of [
      String(foreign.body['id']),
      createModelTaskId('vidA3', Date.now()),
      'nonsense',
      'vidA3:',
    ]) {
      expectProblem(await query(id), 'task_not_found')
      expectProblem(await query(id, { prefer: `wait=${longSeconds}` }), 'task_not_found')
    }
  })
})

describe('200, state by state', () => {
  const states: [string, (id: string) => Promise<unknown>][] = [
    ['pending', () => Promise.resolve()],
    ['processing', (id) => begin(id)],
    ['completed', (id) => completeTask(gateway, accountId, id)],
    [
      'failed',
      (id) =>
        endTask(gateway.database.postgres, id, {
          kind: 'failed',
          code: 'upstream_error',
          message: 'Broken.',
        }),
    ],
  ]
  test.each(states)('%s: exactly the five fields, and a link only once completed', async (status, move) => {
    for (const order of [familyA, { model: 'vidB-2', prompt: 'A whale', images: [pixelUri] }]) {
      const id = await create(order)
      await move(id)
      const { body } = await query(id)
      expect(body).toEqual({
        id,
        status,
        video_url: status === 'completed' ? expect.stringMatching(/^https:\/\/videos\.example\//) : null,
        enhanced_prompt: 'A whale',
        status_update_time: expect.any(Number),
        ...(status === 'failed' && { error: { code: 'upstream_error', message: 'Broken.' } }),
      })
      expect(Number.isInteger(body['status_update_time'])).toBe(true)
    }
  })
})
