import type { ErrorCode } from '@kinora/contract/errors'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { createLog } from '../../src/platform/log.ts'
import { postgresPubsub } from '../../src/platform/pubsub.ts'
import { markProcessing } from '../../src/tasks/task-store.ts'
import { createModelTaskId, dayOfTaskId } from '../../src/videos/task-id.ts'
import { videoTables } from '../../src/videos/task.ts'
import { ask, askJson, errorBodyOf, expectProblem } from '../kit/answers.ts'
import { allEventsIn, dataOf, eventsIn, nextOf, type ReadEvent } from '../kit/event-reader.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { shownVideo } from '../kit/shown-video.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'
import { startTaskLife, type TaskLife } from '../kit/task-life.ts'
import { withoutIntervals } from '../kit/without-intervals.ts'

let gateway: TestGateway
let life: TaskLife
let accountId: string
let key: TestKey

beforeAll(async () => {
  gateway = await startGateway({ PUBLIC_URL: 'https://videos.example' })
  life = startTaskLife(gateway)
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(async () => {
  life.close()
  await gateway[Symbol.asyncDispose]()
})

const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '1280x720' }

const create = async (url = gateway.url): Promise<string> => {
  const answer = await askJson(`${url}/v1/videos`, key.text, order)
  expect(answer.status).toBe(200)
  return String(answer.body['id'])
}

interface Opening {
  headers?: Record<string, string>
  query?: string
  method?: string
  url?: string
  text?: string
}

const open = (
  id: string,
  { headers = {}, query = '', method = 'GET', url = gateway.url, text = key.text }: Opening = {},
) =>
  fetch(`${url}/v1/videos/${id}/events${query}`, {
    method,
    headers: { authorization: `Bearer ${text}`, ...headers },
  })

/** A completed task with its five events. */
const finished = async (): Promise<{ id: string; events: ReadEvent[] }> => {
  const id = await create()
  await life.begin(id)
  await life.progress(id, 30)
  await life.progress(id, 60)
  await life.complete(id, accountId)
  return { id, events: await allEventsIn((await open(id)).body) }
}

describe('200', () => {
  test('a finished task streams all its events, each with the state at that time, and ends', async () => {
    await create()
    const { id, events } = await finished()
    const shown = shownVideo({ id, model: 'vidB-2', seconds: 4, size: '1280x720' })
    expect(events.map((each) => [each.event, dataOf(each)])).toEqual([
      ['accepted', shown],
      ['processing', { ...shown, status: 'processing' }],
      ['progress', { ...shown, status: 'processing', progress: 30 }],
      ['progress', { ...shown, status: 'processing', progress: 60 }],
      ['completed', { ...shown, status: 'completed', progress: 100, video_url: expect.any(String) }],
    ])
    const { body: task } = await ask(`${gateway.url}/v1/videos/${id}`, key.text)
    const lastOne = dataOf(events[4] ?? {}) as Record<string, unknown>
    // Each response has a newly signed link.
    expect({ ...lastOne, video_url: '' }).toEqual({ ...task, video_url: '' })
    // Event ids are numbered per task.
    expect(events.map((each) => each.id)).toEqual(['1', '2', '3', '4', '5'])
    const last = dataOf(events[4] ?? {}) as { video_url: string }
    expect(last.video_url).toMatch(/^https:\/\/videos\.example\/media\/.+\/video\.mp4\?expires=/)
    const { pathname, search } = new URL(last.video_url)
    expect((await fetch(`${gateway.url}${pathname}${search}`)).status).toBe(200)
  })

  test('a stream has the headers of server-sent events', async () => {
    const { headers } = await open((await finished()).id)
    expect(headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(headers.get('cache-control')).toBe('no-cache, no-transform')
    expect(headers.get('x-accel-buffering')).toBe('no')
    expect(headers.get('x-request-id')).toMatch(/^req_/)
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(Number(headers.get('x-ratelimit-limit'))).toBe(100_000)
    expect(Number(headers.get('x-ratelimit-remaining'))).toBeGreaterThan(0)
  })

  test('events are sent as they happen, and a failure has its error', async () => {
    const id = await create()
    const events = eventsIn((await open(id)).body)
    expect((await nextOf(events)).event).toBe('accepted')
    await life.begin(id)
    expect((await nextOf(events)).event).toBe('processing')
    await life.progress(id, 41)
    expect(dataOf(await nextOf(events))).toMatchObject({ status: 'processing', progress: 41 })
    await life.fail(id, 'content_policy_violation', 'Not that.')
    const last = await nextOf(events)
    expect(last.event).toBe('failed')
    expect(dataOf(last)).toEqual(
      shownVideo({
        ...{ id, status: 'failed', progress: 41, model: 'vidB-2', seconds: 4, size: '1280x720' },
        error: { code: 'content_policy_violation', message: 'Not that.' },
      }),
    )
    expect((await events.next()).done).toBe(true)
  })

  test('each event has the time of the last change of status until then, also after a reconnect', async () => {
    const id = await create()
    await life.begin(id)
    await life.progress(id, 30)
    await life.complete(id, accountId)
    const start = Math.floor(Date.now() / 1000) - 60
    const at = { accepted: start, processing: start + 2, progress: start + 4, completed: start + 6 }
    const { postgres } = gateway.database
    await postgres.query(
      'update task_events set created_at = to_timestamp(($2::jsonb ->> kind)::integer) where task_id = $1',
      [id, JSON.stringify(at)],
    )
    await postgres.query('update video_tasks set created_at = to_timestamp($2) where id = $1', [id, start])
    const times = (events: ReadEvent[]) =>
      events.map((event) => (dataOf(event) as { status_update_time: number }).status_update_time)
    const expected = [at.accepted, at.processing, at.processing, at.completed]
    expect(times(await allEventsIn((await open(id)).body))).toEqual(expected)
    const rest = await allEventsIn((await open(id, { headers: { 'last-event-id': '2' } })).body)
    expect(times(rest)).toEqual(expected.slice(2))
  })

  test('an event without a notification is still sent, a little later', async () => {
    const id = await create()
    const events = eventsIn((await open(id)).body)
    await nextOf(events)
    await gateway.database.postgres.query(
      `insert into task_events (day, task_id, id, kind, data)
       select day, id, last_event + 1, 'progress', '{"progress": 12}' from video_tasks where id = $1`,
      [id],
    )
    expect(dataOf(await nextOf(events))).toMatchObject({ progress: 12 })
    await events.return(undefined)
  })

  test('without Redis, notifications go through the database', async () => {
    await using alone = await withoutIntervals(() => startGateway({ REDIS_URL: '' }))
    const { postgres } = alone.database
    const { text } = await createKey(postgres, await createAccount(postgres))
    const created = await askJson(`${alone.url}/v1/videos`, text, order)
    const id = String(created.body['id'])
    const events = eventsIn((await open(id, { url: alone.url, text })).body)
    await nextOf(events)
    await markProcessing(postgres, videoTables, [{ day: dayOfTaskId(id) ?? '', id }])
    postgresPubsub(postgres, createLog({ level: 'silent' }, 'test')).publish([id])
    expect((await nextOf(events)).event).toBe('processing')
    await events.return(undefined)
  })

  test('a stream resumes after any event, and the header takes precedence over the query', async () => {
    const { id, events } = await finished()
    const known = (each: ReadEvent) => [each.id, each.event]
    for (const [index, event] of events.slice(0, -1).entries()) {
      const rest = events.slice(index + 1).map(known)
      const lastId = String(event.id)
      const byHeader = await open(id, { headers: { 'last-event-id': lastId }, query: '?last_event_id=1' })
      expect((await allEventsIn(byHeader.body)).map(known)).toEqual(rest)
      const byQuery = await open(id, { query: `?last_event_id=${lastId}` })
      expect((await allEventsIn(byQuery.body)).map(known)).toEqual(rest)
    }
    for (const options of [{ headers: { 'last-event-id': '' } }, { query: '?last_event_id=0' }]) {
      expect(await allEventsIn((await open(id, options)).body)).toHaveLength(5)
    }
  })

  test('the openai dialect uses its own status names', async () => {
    const { id } = await finished()
    const events = await allEventsIn((await open(id, { headers: { 'x-api-dialect': 'openai' } })).body)
    expect(events.map((each) => (dataOf(each) as { status: string }).status)).toEqual([
      'queued',
      'in_progress',
      'in_progress',
      'in_progress',
      'completed',
    ])
  })

  test('HEAD responds at once', async () => {
    const answer = await open(await create(), { method: 'HEAD' })
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(await answer.text()).toBe('')
  })

  test('a gateway that shuts down ends its streams with a retry delay and does not wait for the tasks', async () => {
    const closing = await startGateway({}, gateway)
    const id = await create(closing.url)
    const events = eventsIn((await open(id, { url: closing.url })).body)
    const first = await nextOf(events)
    await closing[Symbol.asyncDispose]()
    expect(await nextOf(events)).toEqual({ retry: expect.stringMatching(/^\d{3,4}$/) })
    expect((await events.next()).done).toBe(true)
    await life.begin(id)
    const again = eventsIn((await open(id, { headers: { 'last-event-id': String(first.id) } })).body)
    expect((await nextOf(again)).event).toBe('processing')
    await again.return(undefined)
  })
})

describe('204', () => {
  test('resuming after the last event of a finished task, so that a browser stops reconnecting', async () => {
    const { id, events } = await finished()
    const answer = await open(id, { headers: { 'last-event-id': String(events[4]?.id) } })
    expect(answer.status).toBe(204)
    expect(await answer.text()).toBe('')
  })
})

describe('400 invalid_parameter', () => {
  const openWith = (id: string, headers: Record<string, string>, query = '') =>
    ask(`${gateway.url}/v1/videos/${id}/events${query}`, key.text, { headers })

  test.each(['abc', '-1', '1.5', '1e3', '9'.repeat(30)])('Last-Event-ID: %s', async (value) => {
    const id = await create()
    expectProblem(await openWith(id, { 'last-event-id': value }), 'invalid_parameter', 'Last-Event-ID')
    expectProblem(await openWith(id, {}, `?last_event_id=${value}`), 'invalid_parameter', 'last_event_id')
  })

  test('an id beyond the last event of the task', async () => {
    const { id, events } = await finished()
    const beyond = String(Number(events[4]?.id) + 1)
    expectProblem(await openWith(id, { 'last-event-id': beyond }), 'invalid_parameter', 'Last-Event-ID')
    expectProblem(await openWith(id, {}, `?last_event_id=${beyond}`), 'invalid_parameter', 'last_event_id')
  })
})

describe('404 task_not_found', () => {
  test('an unknown id and a task of another account get the same error before the stream starts', async () => {
    const { postgres } = gateway.database
    const stranger = await createKey(postgres, await createAccount(postgres))
    const id = await create()
    const events = (taskId: string) =>
      ask(`${gateway.url}/v1/videos/${taskId}/events`, stranger.text, { headers: { 'last-event-id': '1' } })
    expectProblem(await events(id), 'task_not_found')
    expectProblem(await events(createModelTaskId('vidB-2', Date.now())), 'task_not_found')
    expectProblem(await events('nonsense'), 'task_not_found')
  })
})

describe('a caller who is no longer accepted', () => {
  const changes: [ErrorCode, string, string][] = [
    [
      'account_suspended',
      'the account is suspended',
      `update accounts set status = 'suspended' where id = $1`,
    ],
    ['access_denied', 'the key is disabled', 'update keys set disabled_at = now() where account_id = $1'],
    ['invalid_api_key', 'the key is deleted', 'update keys set deleted_at = now() where account_id = $1'],
  ]
  const createCaller = async () => {
    const { postgres } = gateway.database
    const account = await createAccount(postgres)
    const { text } = await createKey(postgres, account)
    const { body } = await askJson(`${gateway.url}/v1/videos`, text, order)
    return { account, text, id: String(body['id']) }
  }

  test.each(changes)('gets %s in all that waits when %s, and others do not', async (code, _change, sql) => {
    const [{ account, text, id }, other] = [await createCaller(), await createCaller()]
    const events = eventsIn((await open(id, { text })).body)
    const eventsOfOther = eventsIn((await open(other.id, { text: other.text })).body)
    for (const each of [events, eventsOfOther]) expect((await nextOf(each)).event).toBe('accepted')
    const chat = { model: 'vidB-2', messages: [{ role: 'user', content: 'A whale' }] }
    const ordered = await fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${text}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...chat, stream: true }),
    })
    const chunks = eventsIn(ordered.body)
    expect(JSON.stringify(dataOf(await nextOf(chunks)))).toContain('task_id: ')
    const waiting = [
      ask(`${gateway.url}/v1/videos/${id}`, text, { headers: { prefer: 'wait=300' } }),
      askJson(`${gateway.url}/v1/chat/completions`, text, chat),
    ]
    // The chat that waits has ordered its video.
    await expect
      .poll(async () => {
        const { rows } = await gateway.database.postgres.query<{ count: number }>(
          'select count(*) from video_tasks where account_id = $1',
          [account],
        )
        return rows[0]?.count
      })
      .toBe(3)
    await gateway.database.postgres.query(sql, [account])

    const last = await nextOf(events)
    expect(last.event).toBe('error')
    expect(dataOf(last)).toEqual(errorBodyOf(code))
    expect((await events.next()).done).toBe(true)
    expect(dataOf(await nextOf(chunks))).toMatchObject({ error: { code } })
    for (const answer of await Promise.all(waiting)) expect(answer.body).toMatchObject({ error: { code } })

    await life.begin(other.id)
    expect((await nextOf(eventsOfOther)).event).toBe('processing')
    await life.fail(other.id, 'upstream_error', 'Not now.')
    expect((await nextOf(eventsOfOther)).event).toBe('failed')
  })
})
