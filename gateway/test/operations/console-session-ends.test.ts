/** What ends a session of the console, at once and in every process, and who may see and revoke it. */
import { operations } from '@kinora/contract/operations'
import Schema from 'typebox/schema'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import type { NewKey } from '../../src/auth/key-store.ts'
import { expectProblem, type Answer } from '../kit/answers.ts'
import { consoleSettings, openBrowser, type ConsoleBrowser } from '../kit/console-browser.ts'
import { dataOf, eventsIn, nextOf } from '../kit/event-reader.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
/** Another process of the same service. */
let other: TestGateway
let operator: Operator

beforeAll(async () => {
  gateway = await startGateway(consoleSettings)
  other = await startGateway(consoleSettings, gateway)
  operator = await createOperator(gateway)
})
afterAll(async () => {
  await other[Symbol.asyncDispose]()
  await gateway[Symbol.asyncDispose]()
})

const customer = async (traits: Partial<NewKey> = {}, account?: string) => {
  const { postgres } = gateway.database
  const accountId = account ?? (await createAccount(postgres))
  return { accountId, ...(await createKey(postgres, accountId, traits)) }
}
const operatorKey = (traits: Partial<NewKey> = {}) =>
  createKey(gateway.database.postgres, '', { kind: 'admin', ...traits })
const signedIn = async (...keys: string[]) => {
  const opened = openBrowser(gateway.url)
  const { body } = await opened.signIn(...keys)
  return { ...opened, id: String(body['id']) }
}
const there = ({ cookie, address }: ConsoleBrowser) => openBrowser(other.url, { cookie: cookie(), address })
const change = (id: string, assignment: string) =>
  gateway.database.postgres.query(`update console_sessions set ${assignment} where id = $1`, [id])

/** Both processes have the session in their caches, and refuse it as soon as they are told. */
const expectEnd = async (opened: ConsoleBrowser, end: () => Promise<unknown>) => {
  for (const each of [opened, there(opened)]) expect((await each.ask('/v1/me')).status).toBe(200)
  await end()
  for (const each of [opened, there(opened)])
    await expect.poll(async () => (await each.ask('/v1/me')).status).toBeGreaterThanOrEqual(401)
}

const list = async (opened: ConsoleBrowser) => {
  const { body } = await opened.ask('/console/v1/sessions?limit=200')
  expect(Schema.Errors(operations.listConsoleSessions.answer.schema, body)).toEqual([true, []])
  return body['data'] as { id: string; current: boolean; operator: unknown }[]
}
const idsIn = async (opened: ConsoleBrowser) => (await list(opened)).map(({ id }) => id)
const revoke = (opened: ConsoleBrowser, id: string): Promise<Answer> =>
  opened.ask(`/console/v1/sessions/${id}`, { method: 'DELETE' })

describe('a key ends its sessions when it', () => {
  test.for([
    ['is deleted', (id: string) => operator.call('deleteKey', { id })],
    ['is disabled', (id: string) => operator.call('updateKey', { id, body: { disabled: true } })],
    ['gets a new secret', (id: string) => operator.call('rotateKey', { id })],
  ] as const)('%s', async ([, end]) => {
    const { id, text } = await customer()
    const opened = await signedIn(text)
    await expectEnd(opened, () => end(id))
    expectProblem(await opened.ask('/console/v1/session'), 'missing_session')
  })

  test('expires', async () => {
    const { id, text } = await customer()
    await expectEnd(await signedIn(text), () =>
      gateway.database.postgres.query(`update keys set expires_at = now() where id = $1`, [id]),
    )
  })

  test('is one of a suspended account', async () => {
    const { accountId, text } = await customer()
    const opened = await signedIn(text)
    await expectEnd(opened, () =>
      operator.call('updateAccount', { id: accountId, body: { status: 'suspended' } }),
    )
    expectProblem(await opened.ask('/v1/me'), 'account_suspended')
  })

  test('not before the end of an overlap, and not the other key of the session', async () => {
    const [{ id, text }, acting] = [await customer(), await operatorKey({ role: 'read' })]
    const opened = await signedIn(text, acting.text)
    await operator.call('rotateKey', { id, body: { overlap_seconds: 3_600 } })
    expect((await opened.ask('/v1/me')).status).toBe(200)
    await operator.call('deleteKey', { id })
    await expect.poll(async () => (await opened.ask('/v1/me')).status).toBe(401)
    const { body } = await opened.ask('/console/v1/session')
    expect(body).toMatchObject({ account: null, key: null, operator: { id: acting.id, role: 'read' } })
    expect((await opened.ask('/admin/v1/accounts')).status).toBe(200)
  })
})

describe('time ends a session', () => {
  test('12 hours after its last use, which is written at most once a minute', async () => {
    const { text } = await customer()
    const opened = await signedIn(text)
    const lastUse = async () =>
      (
        await gateway.database.postgres.query<{ age: number }>(
          `select extract(epoch from now() - last_used_at)::float8 as age from console_sessions where id = $1`,
          [opened.id],
        )
      ).rows[0]?.age ?? 0
    await change(opened.id, `last_used_at = now() - interval '11 hours 50 minutes'`)
    // Another process has nothing of it in its cache.
    expect((await there(opened).ask('/v1/me')).status).toBe(200)
    expect(await lastUse()).toBeLessThan(3_600)
    await change(opened.id, `last_used_at = now() - interval '12 hours'`)
    await using third = await startGateway(consoleSettings, gateway)
    const late = openBrowser(third.url, { cookie: opened.cookie() })
    expectProblem(await late.ask('/v1/me'), 'missing_api_key')
    expectProblem(await late.ask('/console/v1/session'), 'missing_session')
    expect(await lastUse()).toBeGreaterThan(43_000)
  })

  test('7 days after its start, however much it is used', async () => {
    const opened = await signedIn((await customer()).text)
    await change(opened.id, 'expires_at = now()')
    expectProblem(await there(opened).ask('/console/v1/session'), 'missing_session')
    expect(await idsIn(await signedIn((await operatorKey()).text))).not.toContain(opened.id)
  })
})

describe('revocation', () => {
  test('ends a session at once in every process, with its event streams', async () => {
    const acting = await operatorKey()
    const { text } = await customer({ scopes: ['read', 'account'] })
    const opened = await signedIn(text, acting.text)
    const admin = await signedIn((await operatorKey()).text)
    const streams = await Promise.all(
      ['/v1/events?stream=true', '/admin/v1/events'].flatMap((path) =>
        [opened, there(opened)].map(async (each) => {
          const response = await each.fetch(path, { headers: { accept: 'text/event-stream' } })
          expect(response.status).toBe(200)
          const events = eventsIn(response.body)
          await nextOf(events)
          return events
        }),
      ),
    )
    expect((await revoke(admin, opened.id)).body).toEqual({ id: opened.id, deleted: true })
    for (const events of streams) {
      const last = await nextOf(events)
      expect(last.event).toBe('error')
      expect(dataOf(last)).toMatchObject({ error: { code: 'missing_api_key' } })
      expect(await events.next()).toMatchObject({ done: true })
    }
    for (const each of [opened, there(opened)]) expectProblem(await each.ask('/v1/me'), 'missing_api_key')
    expectProblem(await revoke(admin, opened.id), 'resource_not_found')
  })

  test('is for the sessions of the own account, with the scope account', async () => {
    const manager = await customer({ scopes: ['read', 'account'] })
    const member = await customer({}, manager.accountId)
    const stranger = await signedIn((await customer({ scopes: ['read', 'account'] })).text)
    const [one, two, shared] = [
      await signedIn(manager.text),
      await signedIn(member.text),
      await signedIn(member.text, (await operatorKey()).text),
    ]
    expect((await idsIn(one)).toSorted()).toEqual([one.id, two.id, shared.id].toSorted())
    expect((await idsIn(two)).toSorted()).toEqual([two.id, shared.id].toSorted())
    expect((await list(one)).filter(({ current }) => current).map(({ id }) => id)).toEqual([one.id])
    // Which operator uses a key is nothing for its customer.
    expect((await list(one)).every((each) => each.operator === null)).toBe(true)
    expect(await idsIn(stranger)).toEqual([stranger.id])
    expectProblem(await revoke(stranger, one.id), 'resource_not_found')
    expectProblem(await revoke(two, one.id), 'resource_not_found')
    expectProblem(await revoke(two, 'nothing'), 'resource_not_found')
    expect((await revoke(one, two.id)).status).toBe(200)
    expectProblem(await two.ask('/console/v1/session'), 'missing_session')
  })

  test('is for all sessions with the role admin, and for the own ones with another role', async () => {
    const [admin, reader] = [
      await signedIn((await operatorKey()).text),
      await signedIn((await operatorKey({ role: 'support' })).text),
    ]
    const opened = await signedIn((await customer()).text)
    expect(await idsIn(admin)).toEqual(expect.arrayContaining([admin.id, reader.id, opened.id]))
    expect(await idsIn(reader)).toEqual([reader.id])
    expectProblem(await revoke(reader, opened.id), 'resource_not_found')
    expect((await revoke(admin, opened.id)).status).toBe(200)
  })

  test('and signing in as an operator are in the audit log', async () => {
    const acting = await operatorKey()
    const admin = await signedIn(acting.text)
    const { id } = await signedIn((await customer()).text)
    await revoke(admin, id)
    const entryOf = async (action: string, target: string) => {
      const { data } = await operator.call('listAuditEntries', { query: { action, target } })
      return (data as { actor: string }[]).map(({ actor }) => actor)
    }
    expect(await entryOf('createConsoleSession', admin.id)).toEqual([acting.id])
    expect(await entryOf('revokeConsoleSession', id)).toEqual([acting.id])
  })
})

test('a list has pages, newest first', async () => {
  const { text } = await customer()
  const opened = [await signedIn(text), await signedIn(text), await signedIn(text)] as const
  const first = (await opened[0].ask('/console/v1/sessions?limit=2')).body
  const rest = (await opened[0].ask(`/console/v1/sessions?limit=2&cursor=${String(first['next'])}`)).body
  const ids = [first, rest].flatMap(({ data }) => (data as { id: string }[]).map(({ id }) => id))
  expect(ids).toEqual(opened.map(({ id }) => id).toReversed())
  expect(rest['next']).toBeNull()
})
