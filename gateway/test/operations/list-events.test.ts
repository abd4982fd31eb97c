import type { ErrorCode } from '@kinora/contract/errors'
import { operations } from '@kinora/contract/operations'
import Schema from 'typebox/schema'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { writeCursor } from '../../src/event-feed/event-cursor.ts'
import { recordAccountEvent } from '../../src/events/account-event-store.ts'
import { Secret } from '../../src/platform/secret.ts'
import { ask, askJson, errorBodyOf, expectProblem } from '../kit/answers.ts'
import { dataOf, eventsIn, nextOf, type ReadEvent } from '../kit/event-reader.ts'
import { createAccount, createKey, linkSecret } from '../kit/factories.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'
import { startTaskLife, type TaskLife } from '../kit/task-life.ts'

let gateway: TestGateway
let life: TaskLife

beforeAll(async () => {
  gateway = await startGateway()
  life = startTaskLife(gateway)
})
afterAll(async () => {
  life.close()
  await gateway[Symbol.asyncDispose]()
})

const createCaller = async (scopes: ('create' | 'read' | 'account')[] = ['create', 'read']) => {
  const { postgres } = gateway.database
  const accountId = await createAccount(postgres)
  const { text } = await createKey(postgres, accountId, { scopes })
  return { accountId, text }
}
type Caller = Awaited<ReturnType<typeof createCaller>>

const create = async ({ text }: Caller) => {
  const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
  const answer = await askJson(`${gateway.url}/v1/videos`, text, order)
  expect(answer.status).toBe(200)
  return String(answer.body['id'])
}
const note = ({ accountId }: Caller, objectId: string) =>
  recordAccountEvent(gateway.database.postgres, {
    ...{ accountId, type: 'character.created', objectId },
    data: { id: objectId, username: 'red.panda_7' },
  })

interface Page {
  data: { id: string; type: string; created_at: number; data: Record<string, unknown> }[]
  has_more: boolean
  next: string
}
const list = async ({ text }: Pick<Caller, 'text'>, query = ''): Promise<Page> => {
  const { status, body } = await ask(`${gateway.url}/v1/events${query}`, text)
  expect({ status, body }).toMatchObject({ status: 200 })
  expect(Schema.Errors(operations.listEvents.answer.schema, body)).toEqual([true, []])
  return body as unknown as Page
}
/** Lists until there are that many events: other databases of the server may have open transactions. */
const listUntil = async (caller: Pick<Caller, 'text'>, count: number, query = '') => {
  let page: Page | undefined
  await expect.poll(async () => (page = await list(caller, query)).data.length).toBeGreaterThanOrEqual(count)
  if (page === undefined) throw new Error('no page')
  return page
}
const typesOf = ({ data }: Page) => data.map(({ type }) => type)

const follow = (
  { text }: Pick<Caller, 'text'>,
  {
    headers = {},
    query = '',
    url = gateway.url,
  }: { headers?: Record<string, string>; query?: string; url?: string } = {},
) =>
  fetch(`${url}/v1/events${query}`, {
    headers: { authorization: `Bearer ${text}`, accept: 'text/event-stream', ...headers },
  })
/** The events of a stream, after the first one, which only has a cursor. */
const openStream = async (caller: Pick<Caller, 'text'>, options: Parameters<typeof follow>[1] = {}) => {
  const response = await follow(caller, options)
  expect(response.status).toBe(200)
  const events = eventsIn(response.body)
  const first = await nextOf(events)
  expect(first).toEqual({
    id: expect.stringMatching(/^[\w-]{54}$/),
    retry: expect.stringMatching(/^\d{3,4}$/),
  })
  return { events, cursor: String(first.id), response }
}

describe('200', () => {
  test('the events of tasks and of the account, newest first, thin for tasks', async () => {
    const caller = await createCaller()
    const id = await create(caller)
    await life.begin(id)
    await life.progress(id, 34)
    await life.fail(id)
    await note(caller, 'character_1')
    const page = await listUntil(caller, 4)
    expect(page).toMatchObject({ object: 'list', has_more: false })
    const event = {
      id: expect.stringMatching(/^evt_[0-9a-f]{32}$/),
      object: 'event',
      created_at: expect.any(Number),
    }
    const video = { id, object: 'video' }
    expect(page.data).toEqual([
      { ...event, type: 'character.created', data: { id: 'character_1', username: 'red.panda_7' } },
      { ...event, type: 'video.failed', data: { ...video, status: 'failed', progress: 34 } },
      { ...event, type: 'video.progress', data: { ...video, status: 'processing', progress: 34 } },
      { ...event, type: 'video.processing', data: { ...video, status: 'processing' } },
    ])
    expect((await list(caller, '?order=asc')).data).toEqual(page.data.toReversed())
    expect(typesOf(await list(caller, '?type=video.failed'))).toEqual(['video.failed'])
  })

  test('a key with one of the scopes read and account, and no events of another account', async () => {
    const [caller, other] = [await createCaller(['account']), await createCaller(['read'])]
    await note(other, 'of_another')
    await note(caller, 'own')
    expect((await listUntil(caller, 1)).data.map(({ data }) => data['id'])).toEqual(['own'])
    expect((await listUntil(other, 1)).data.map(({ data }) => data['id'])).toEqual(['of_another'])
  })

  test('a key without the scope account sees nothing of keys and endpoints', async () => {
    const caller = await createCaller(['read'])
    const { text: managing } = await createKey(gateway.database.postgres, caller.accountId, {
      scopes: ['account'],
    })
    const { events } = await openStream(caller)
    const data = { id: 'it', url: 'https://example.com/secret' }
    for (const type of ['key.expiring', 'webhook_endpoint.disabled'] as const)
      await recordAccountEvent(gateway.database.postgres, {
        ...{ accountId: caller.accountId, type, objectId: 'it', data },
      })
    await note(caller, 'character_1')
    const all = ['character.created', 'webhook_endpoint.disabled', 'key.expiring']
    expect(typesOf(await listUntil({ text: managing }, 3))).toEqual(all)
    expect(typesOf(await list(caller))).toEqual(['character.created'])
    expect((await list(caller, '?type=key.expiring')).data).toEqual([])
    expect((await nextOf(events)).event).toBe('character.created')
  })

  test('a reader of a feed without new events gets a newer cursor', async () => {
    const caller = await createCaller()
    const at = new Date(Date.now() - 29 * 86_400_000)
    const old = writeCursor([new Secret(linkSecret)], caller.accountId, { position: '1', number: '1', at })
    const { next } = await list(caller, `?order=asc&after=${old}`)
    expect(next).not.toBe(old)
    await note(caller, 'character_1')
    expect((await listUntil(caller, 1, `?order=asc&after=${next}`)).data[0]?.data['id']).toBe('character_1')
  })

  test('pages in both orders have every event once, and the last page is continued when there are more', async () => {
    const caller = await createCaller()
    const empty = await list(caller)
    expect(empty).toMatchObject({ data: [], has_more: false })
    const names = Array.from({ length: 7 }, (_, index) => `character_${index}`)
    for (const name of names) await note(caller, name)
    await listUntil(caller, 7)
    for (const order of ['asc', 'desc']) {
      const found: unknown[] = []
      let page = await list(caller, `?order=${order}&limit=3`)
      for (;;) {
        found.push(...page.data.map(({ data }) => data['id']))
        if (!page.has_more) break
        page = await list(caller, `?order=${order}&limit=3&after=${page.next}`)
      }
      expect(found).toEqual(order === 'asc' ? names : names.toReversed())
    }
    // The end of an empty feed, and the newest event, are places to continue from.
    const [newest] = [await list(caller, '?limit=1')]
    expect((await list(caller, `?order=asc&after=${newest.next}`)).data).toEqual([])
    const rest = await list(caller, `?order=asc&after=${empty.next}`)
    expect(rest.data.map(({ data }) => data['id'])).toEqual(names)
    await note(caller, 'later')
    const continued = await listUntil(caller, 1, `?order=asc&after=${newest.next}`)
    expect(continued.data.map(({ data }) => data['id'])).toEqual(['later'])
  })

  test('a stream sends new events as they happen, and resumes after any of them', async () => {
    const caller = await createCaller()
    await note(caller, 'before')
    await listUntil(caller, 1)
    const { events, cursor, response } = await openStream(caller)
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const id = await create(caller)
    await life.begin(id)
    const received: ReadEvent[] = [await nextOf(events)]
    await note(caller, 'character_1')
    received.push(await nextOf(events))
    await life.fail(id)
    received.push(await nextOf(events))
    await events.return(undefined)
    const types = ['video.processing', 'character.created', 'video.failed']
    expect(received.map((each) => each.event)).toEqual(types)
    expect(received.map(dataOf)).toEqual((await list(caller, `?order=asc&after=${cursor}`)).data)
    for (const [index, lastId] of [cursor, ...received.map((each) => String(each.id))]
      .slice(0, 3)
      .entries()) {
      const resumed = await openStream(caller, { headers: { 'last-event-id': lastId } })
      expect(resumed.cursor).toBe(lastId)
      expect(await nextOf(resumed.events)).toEqual(received[index])
      await resumed.events.return(undefined)
      const byQuery = await openStream(caller, { query: `?stream=true&after=${lastId}` })
      expect(await nextOf(byQuery.events)).toEqual(received[index])
      await byQuery.events.return(undefined)
    }
    const ofType = await openStream(caller, { query: `?after=${cursor}&type=video.failed` })
    expect((await nextOf(ofType.events)).event).toBe('video.failed')
    await ofType.events.return(undefined)
    // More than a page.
    for (let count = 0; count < 230; count += 1) await note(caller, `character_${count}`)
    const many = await openStream(caller, { query: `?after=${String(received[2]?.id)}` })
    for (let count = 0; count < 230; count += 1)
      expect(dataOf(await nextOf(many.events))).toMatchObject({ data: { id: `character_${count}` } })
    await many.events.return(undefined)
  })

  test('HEAD responds at once', async () => {
    const caller = await createCaller()
    const answer = await fetch(`${gateway.url}/v1/events?stream=true`, {
      method: 'HEAD',
      headers: { authorization: `Bearer ${caller.text}` },
    })
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(await answer.text()).toBe('')
  })

  test('a gateway that shuts down ends its streams, and the client resumes elsewhere', async () => {
    const caller = await createCaller()
    const closing = await startGateway({}, gateway)
    const { events, cursor } = await openStream(caller, { url: closing.url })
    await closing[Symbol.asyncDispose]()
    expect((await events.next()).done).toBe(true)
    await note(caller, 'meanwhile')
    const again = await openStream(caller, { headers: { 'last-event-id': cursor } })
    expect(dataOf(await nextOf(again.events))).toMatchObject({ data: { id: 'meanwhile' } })
    await again.events.return(undefined)
  })
})

describe('400 invalid_parameter', () => {
  test('what is no cursor of this account', async () => {
    const [caller, other] = [await createCaller(), await createCaller()]
    const ofOther = (await list(other)).next
    for (const cursor of [ofOther, 'A'.repeat(54), 'abc', '1']) {
      const { url } = gateway
      expectProblem(await ask(`${url}/v1/events?after=${cursor}`, caller.text), 'invalid_parameter', 'after')
      const headers = { accept: 'text/event-stream', 'last-event-id': cursor }
      const streamed = await ask(`${url}/v1/events`, caller.text, { headers })
      expectProblem(streamed, 'invalid_parameter', 'Last-Event-ID')
    }
  })

  test('a cursor whose next events may be deleted', async () => {
    const caller = await createCaller()
    const at = new Date(Date.now() - 31 * 86_400_000)
    const old = writeCursor([new Secret(linkSecret)], caller.accountId, { position: '1', number: '1', at })
    const answer = await ask(`${gateway.url}/v1/events?after=${old}`, caller.text)
    expectProblem(answer, 'invalid_parameter', 'after')
  })

  test.each(['limit=0', 'limit=101', 'order=up', 'type=video.accepted', 'stream=maybe'])(
    '%s',
    async (query) => {
      const { text } = await createCaller()
      const [param] = query.split('=')
      expectProblem(await ask(`${gateway.url}/v1/events?${query}`, text), 'invalid_parameter', param)
    },
  )
})

describe('403 insufficient_scope', () => {
  test('a key that may only create', async () => {
    const { text } = await createCaller(['create'])
    expectProblem(await ask(`${gateway.url}/v1/events`, text), 'insufficient_scope')
  })
})

describe('429 rate_limit_exceeded', () => {
  test('more than 20 streams of an account, until one of them ends', async () => {
    const [caller, other] = [await createCaller(), await createCaller()]
    const streams = await Promise.all(Array.from({ length: 20 }, () => openStream(caller)))
    const refused = () => ask(`${gateway.url}/v1/events?stream=true`, caller.text)
    expectProblem(await refused(), 'rate_limit_exceeded')
    await (await openStream(other)).events.return(undefined)
    await streams[0]?.events.return(undefined)
    await expect
      .poll(async () => {
        const response = await follow(caller)
        if (response.status === 200) streams.push({ events: eventsIn(response.body), cursor: '', response })
        else await response.text()
        return response.status
      })
      .toBe(200)
    for (const { events } of streams) await events.return(undefined)
  })
})

describe('a caller who is no longer accepted', () => {
  test.each([
    ['account_suspended', `update accounts set status = 'suspended' where id = $1`],
    ['invalid_api_key', 'update keys set deleted_at = now() where account_id = $1'],
  ] as [ErrorCode, string][])('gets %s as the last event', async (code, sql) => {
    const caller = await createCaller()
    const { events } = await openStream(caller)
    await gateway.database.postgres.query(sql, [caller.accountId])
    const last = await nextOf(events)
    expect(last.event).toBe('error')
    expect(dataOf(last)).toEqual(errorBodyOf(code))
    expect((await events.next()).done).toBe(true)
  })
})
