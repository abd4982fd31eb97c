/** The event feed of all accounts as a stream of server-sent events. */
import type { ErrorCode } from '@kinora/contract/errors'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import type { NewKey } from '../../src/auth/key-store.ts'
import { recordAccountEvent } from '../../src/events/account-event-store.ts'
import { ask, errorBodyOf, expectProblem } from '../kit/answers.ts'
import { dataOf, eventsIn, nextOf, type ReadEvent } from '../kit/event-reader.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startGateway()
})
afterAll(() => gateway[Symbol.asyncDispose]())

const account = () => createAccount(gateway.database.postgres)
const operator = async (traits: Partial<NewKey> = {}): Promise<Operator> =>
  createOperator(gateway, await createKey(gateway.database.postgres, '', { kind: 'admin', ...traits }))
const note = (
  accountId: string,
  objectId: string,
  type: 'character.created' | 'character.deleted' = 'character.created',
) => recordAccountEvent(gateway.database.postgres, { accountId, type, objectId, data: { id: objectId } })

interface Options {
  query?: Record<string, string>
  lastId?: string
  url?: string
}
const follow = ({ text }: Pick<Operator, 'text'>, { query = {}, lastId, url = gateway.url }: Options = {}) =>
  fetch(`${url}/admin/v1/events?${new URLSearchParams(query).toString()}`, {
    headers: {
      authorization: `Bearer ${text}`,
      accept: 'text/event-stream',
      ...(lastId !== undefined && { 'last-event-id': lastId }),
    },
  })

const openStream = async (reader: Pick<Operator, 'text'>, options: Options = {}) => {
  const response = await follow(reader, options)
  expect(response.status).toBe(200)
  const events = eventsIn(response.body)
  const { id, ...rest } = await nextOf(events)
  expect(rest).toEqual({ retry: expect.stringMatching(/^\d{3,4}$/) })
  /** The next events and their ids, after which a stream can be resumed. */
  const take = async (count: number) => {
    const taken: ReadEvent[] = []
    while (taken.length < count) taken.push(await nextOf(events))
    return taken
  }
  return { response, events, cursor: String(id), take, close: () => events.return(undefined) }
}
const shownIn = (events: ReadEvent[]) =>
  events.map((event) => {
    const { account_id: accountId, data } = dataOf(event) as { account_id: string; data: { id: string } }
    return `${accountId} ${data.id}`
  })

describe('200', () => {
  test('the events of several accounts as they happen, the same as in the list', async () => {
    const reader = await operator()
    const [one, other] = [await account(), await account()]
    const stream = await openStream(reader)
    expect(stream.response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    await note(one, 'first')
    const received = await stream.take(1)
    await note(other, 'second')
    received.push(...(await stream.take(1)))
    await note(one, 'third')
    received.push(...(await stream.take(1)))
    await stream.close()
    expect(shownIn(received)).toEqual([`${one} first`, `${other} second`, `${one} third`])
    expect(received.map((each) => each.event)).toEqual(Array(3).fill('character.created'))
    const page = await reader.call('listAllEvents', { query: { order: 'asc', after: stream.cursor } })
    expect(received.map(dataOf)).toEqual(page.data)
  })

  test('a stream resumes after any event, without a gap or a repetition, also for another operator', async () => {
    const accounts = [await account(), await account(), await account()]
    const reader = await operator()
    const { cursor, close } = await openStream(reader)
    await close()
    // More than a page.
    const noted = Array.from({ length: 120 }, (_, index) => ({
      accountId: accounts[index % accounts.length] ?? '',
      objectId: `id_${index}`,
    }))
    for (const { accountId, objectId } of noted) await note(accountId, objectId)
    const received: ReadEvent[] = []
    for (let lastId = cursor; received.length < noted.length;) {
      const stream = await openStream(received.length % 2 === 0 ? reader : await operator(), { lastId })
      expect(stream.cursor).toBe(lastId)
      received.push(...(await stream.take(Math.min(noted.length - received.length, 41))))
      await stream.close()
      lastId = String(received.at(-1)?.id)
    }
    expect(shownIn(received)).toEqual(noted.map(({ accountId, objectId }) => `${accountId} ${objectId}`))
    const byQuery = await openStream(reader, { query: { stream: 'true', after: String(received[7]?.id) } })
    expect(shownIn(await byQuery.take(1))).toEqual(shownIn(received.slice(8, 9)))
    await byQuery.close()
  })

  test('only the events of an account, or of a type', async () => {
    const [one, other] = [await account(), await account()]
    const reader = await operator()
    const ofAccount = await openStream(reader, { query: { account_id: one } })
    const ofType = await openStream(reader, { query: { type: 'character.deleted' } })
    await note(other, 'created')
    await note(other, 'deleted', 'character.deleted')
    await note(one, 'own')
    await note(one, 'own_deleted', 'character.deleted')
    expect(shownIn(await ofAccount.take(2))).toEqual([`${one} own`, `${one} own_deleted`])
    expect(shownIn(await ofType.take(2))).toEqual([`${other} deleted`, `${one} own_deleted`])
    await ofAccount.close()
    await ofType.close()
  })

  test('a server that shuts down ends its streams, and the operator resumes elsewhere', async () => {
    const reader = await operator()
    const closing = await startGateway({ ADMIN_PORT: '1' }, gateway)
    const { events, cursor } = await openStream(reader, { url: closing.adminUrl })
    await closing[Symbol.asyncDispose]()
    expect((await events.next()).done).toBe(true)
    const accountId = await account()
    await note(accountId, 'meanwhile')
    const again = await openStream(reader, { lastId: cursor })
    expect(shownIn(await again.take(1))).toEqual([`${accountId} meanwhile`])
    await again.close()
  })
})

describe('400 invalid_parameter', () => {
  test('a cursor of an account', async () => {
    const { text } = await createKey(gateway.database.postgres, await account())
    const { body } = await ask(`${gateway.url}/v1/events`, text)
    const response = await follow(await operator(), { lastId: String(body['next']) })
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({ error: { param: 'Last-Event-ID' } })
  })
})

describe('403 access_denied', () => {
  test("a customer's key", async () => {
    const { text } = await createKey(gateway.database.postgres, await account())
    const headers = { accept: 'text/event-stream' }
    expectProblem(await ask(`${gateway.url}/admin/v1/events`, text, { headers }), 'access_denied')
  })
})

describe('429 rate_limit_exceeded', () => {
  test('more than 20 streams of a key, until one of them ends', async () => {
    const [reader, other] = [await operator(), await operator()]
    const accountId = await account()
    const query = (index: number) => (index % 2 === 0 ? { query: { account_id: accountId } } : {})
    const streams = await Promise.all(
      Array.from({ length: 20 }, (_, index) => openStream(reader, query(index))),
    )
    expectProblem(await ask(`${gateway.url}/admin/v1/events?stream=true`, reader.text), 'rate_limit_exceeded')
    await (await openStream(other)).close()
    await streams[0]?.close()
    await expect
      .poll(async () => {
        const response = await follow(reader)
        await response.body?.cancel()
        return response.status
      })
      .toBe(200)
    for (const { close } of streams) await close()
  })
})

describe('an operator who is no longer accepted', () => {
  test.each([
    ['invalid_api_key', 'a deleted key', 'deleted_at = now()'],
    ['access_denied', 'a disabled key', 'disabled_at = now()'],
    ['expired_api_key', 'a key that is made to expire', 'expires_at = now()'],
  ] as [ErrorCode, string, string][])('gets %s as the last event: %s', async (code, _, change) => {
    const reader = await operator({ role: 'read' })
    const { events } = await openStream(reader)
    const staying = await openStream(await operator({ role: 'read' }))
    await gateway.database.postgres.query(`update keys set ${change} where id = $1`, [reader.id])
    const last = await nextOf(events)
    expect(last.event).toBe('error')
    expect(last.id).toBeUndefined()
    expect(dataOf(last)).toEqual(errorBodyOf(code))
    expect((await events.next()).done).toBe(true)
    const accountId = await account()
    await note(accountId, 'later')
    expect(shownIn(await staying.take(1))).toEqual([`${accountId} later`])
    await staying.close()
  })

  test('gets expired_api_key when the key expires while the stream is open', async () => {
    const reader = await operator()
    const { events } = await openStream(reader)
    await gateway.database.postgres.query(
      `update keys set expires_at = now() + interval '1 second' where id = $1`,
      [reader.id],
    )
    expect(dataOf(await nextOf(events))).toEqual(errorBodyOf('expired_api_key'))
    expect((await events.next()).done).toBe(true)
  })
})
