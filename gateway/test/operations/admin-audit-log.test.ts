import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { createAuditLog, type Verification } from '../../src/admin/audit-log/audit.ts'
import type { Database } from '../../src/platform/postgres.ts'
import { Secret } from '../../src/platform/secret.ts'
import { expectProblem } from '../kit/answers.ts'
import { auditSecret } from '../kit/factories.ts'
import { createOperator, readAll, type Operator } from '../kit/operator.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let operator: Operator

beforeAll(async () => {
  gateway = await startGateway()
  operator = await createOperator(gateway)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const auditLog = createAuditLog([new Secret(auditSecret)])
const by = { actor: 'an id', requestId: 'req_of_a_test' }
/** Only the owner of the table can do this. */
const allowChanges = (database: Database) =>
  database.query('alter table audit_log disable trigger audit_log_is_append_only')

const newAccount = (name: string) => operator.call('createAccount', { body: { name } })

describe('listAuditEntries', () => {
  test('contains the actor, the action, the time and the values before and after', async () => {
    const account = await newAccount('Before')
    const answer = await operator.ask('updateAccount', { id: account.id, body: { name: 'After' } })
    const { data } = await operator.call('listAuditEntries', { query: { target: account.id } })
    const { name, ...unnamed } = account
    expect(name).toBe('Before')
    expect(data).toEqual([
      {
        sequence: data[1].sequence + 1,
        object: 'audit.entry',
        at: expect.any(Number),
        actor: operator.id,
        actor_name: 'night shift',
        action: 'updateAccount',
        target: account.id,
        target_name: 'After',
        before: unnamed,
        after: { ...unnamed, changed_without_value: ['name'] },
        request_id: answer.headers.get('x-request-id'),
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
      expect.objectContaining({ action: 'createAccount', before: null, after: unnamed }),
    ])
  })

  test('contains no name, reason, reference or address, and shows the present names until they are erased', async () => {
    const { postgres } = gateway.database
    const { id } = await newAccount('planted account')
    const { key } = await operator.call('createKey', {
      id,
      body: { kind: 'payg', name: 'planted key', addresses: ['192.0.2.77'] },
    })
    await operator.call('updateKey', {
      id: key.id,
      body: { name: 'planted again', addresses: ['192.0.2.78'] },
    })
    await operator.call('rotateKey', { id: key.id })
    const named = { name: 'planted operator', role: 'read' }
    const made = await operator.call('createOperatorKey', { body: named })
    const money = { reason: 'planted reason', reference: 'planted reference' }
    const moved = await operator.call('createTopUp', { id, body: { amount_micros: 5, ...money } })
    await operator.call('createAdjustment', { id, body: { amount_micros: -5, ...money } })
    await operator.call('deleteKey', { id: key.id })

    const listed = async (target: string) =>
      (await operator.call('listAuditEntries', { query: { target } })).data as Record<string, any>[]
    expect((await listed(key.id)).map(({ action, target_name }) => [action, target_name])).toEqual(
      ['deleteKey', 'rotateKey', 'updateKey', 'createKey'].map((action) => [action, 'planted again']),
    )
    expect((await listed(key.id))[2]?.['after']).toMatchObject({
      changed_without_value: ['addresses', 'name'],
      account_id: id,
    })
    expect((await listed(made.key.id))[0]).toMatchObject({ target_name: 'planted operator' })
    expect((await listed(id)).at(-2)?.['after']).toMatchObject({ id: moved.id, amount_micros: 5 })

    const { rows } = await postgres.query<{ entry: string }>('select a::text as entry from audit_log a')
    expect(rows.filter(({ entry }) => /planted|night shift|192\.0\.2/.test(entry))).toEqual([])

    await postgres.query(`update accounts set name = '' where id = $1`, [id])
    expect((await listed(id))[0]).toMatchObject({ target_name: null, actor_name: 'night shift' })
    expect(await operator.call('verifyAuditLog')).toMatchObject({ is_intact: true })
  })

  test('pages through all entries by action and time, newest first, while others are added', async () => {
    for (let index = 0; index < 5; index += 1) await newAccount(`entry ${index}`)
    const newest = (await operator.call('listAuditEntries', { query: { limit: 1 } })).data[0].sequence
    const between = () => newAccount('late')
    const all = await readAll(operator, 'listAuditEntries', { between })
    expect(all.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: newest }, (_, index) => newest - index),
    )
    const now = Math.floor(Date.now() / 1000)
    const count = async (query: Record<string, string | number>) =>
      (await operator.call('listAuditEntries', { query })).data.length
    expect(await count({ action: 'deletePlan' })).toBe(0)
    expect(await count({ action: 'createAccount', from: now - 600, to: now + 600, limit: 5 })).toBe(5)
    expect(await count({ to: now - 600 })).toBe(0)
    expectProblem(
      await operator.ask('listAuditEntries', { query: { cursor: 'x' } }),
      'invalid_parameter',
      'cursor',
    )
  })

  test('failed changes are not logged, and concurrent changes get consecutive numbers', async () => {
    const { entries } = await operator.call('verifyAuditLog')
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        operator.ask('createPlan', {
          body: { name: `plan ${index % 10}`, cycle_quota_micros: 1, cycle_days: 1 },
        }),
      ),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10)
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(10)
    const { sequence } = (await operator.call('listAuditEntries', { query: { limit: 1 } })).data[0]
    expect(sequence).toBe(entries + 10)
    expect(await operator.call('verifyAuditLog')).toMatchObject({ is_intact: true, entries: entries + 10 })
  })
})

describe('verifyAuditLog', () => {
  /** Ways to tamper with the log in the database. Numbers below -1 are made positive afterwards. */
  const tamperings = {
    'a changed entry': `update audit_log set after = jsonb_set(after, '{status}', '"x"') where sequence = 4`,
    'a changed time': `update audit_log set at = at - interval '1 hour' where sequence = 4`,
    'an entry of somebody else': `update audit_log set actor = 'day shift' where sequence = 4`,
    'another action': `update audit_log set action = 'x' where sequence = 4`,
    'another target': `update audit_log set target = 'x' where sequence = 4`,
    'another value before the change': `update audit_log set before = '{"name": "x"}' where sequence = 4`,
    'another request': `update audit_log set request_id = 'x' where sequence = 4`,
    'an entry that was taken out': 'delete from audit_log where sequence = 4',
    'an entry that was taken out, the others counted anew': `with gone as (delete from audit_log where sequence = 4)
      update audit_log set sequence = -(sequence - 1) where sequence > 4`,
    'two entries in another order': `update audit_log set sequence = case sequence when 4 then -5 when 5 then -4 end
      where sequence in (4, 5)`,
    'an entry put in front': `insert into audit_log select -1, at, actor, action, target, before, after, request_id, hash
      from audit_log where sequence = 1`,
  }

  beforeAll(async () => {
    for (let index = 0; index < 8; index += 1) await newAccount(`account ${index}`)
  })

  test('returns the newest hash of an intact log', async () => {
    const { data } = await operator.call('listAuditEntries', { query: { limit: 1 } })
    expect(await operator.call('verifyAuditLog')).toEqual({
      object: 'audit.verification',
      is_intact: true,
      entries: data[0].sequence,
      broken_at: null,
      has_known_head: null,
      head: data[0].hash,
    })
  })

  test.each([
    `update audit_log set actor = 'x'`,
    'delete from audit_log',
    'truncate audit_log',
    'truncate audit_log cascade',
  ])('the database refuses "%s"', async (statement) => {
    await expect(gateway.database.postgres.query(statement)).rejects.toThrow(/^The audit log is append-only/)
  })

  test('detects entries removed at the end, if the newest hash is known', async () => {
    const { head, entries } = await operator.call('verifyAuditLog')
    await newAccount('later')
    const known = { query: { known_head: String(head) } }
    expect(await operator.call('verifyAuditLog', known)).toMatchObject({
      is_intact: true,
      has_known_head: true,
    })
    await expectUndone(async (database) => {
      await database.query('delete from audit_log where sequence >= $1', [entries])
      expect(await auditLog.verify(database)).toMatchObject({ brokenAt: undefined, hasKnownHead: undefined })
      expect(await auditLog.verify(database, Buffer.from(String(head), 'hex'))).toMatchObject({
        entries: Number(entries) - 1,
        hasKnownHead: false,
      })
    })
    const unknown = { query: { known_head: 'ab'.repeat(32) } }
    expect(await operator.call('verifyAuditLog', unknown)).toMatchObject({
      is_intact: false,
      broken_at: null,
      has_known_head: false,
    })
    const refused = await operator.ask('verifyAuditLog', { query: { known_head: 'ab' } })
    expectProblem(refused, 'invalid_parameter', 'known_head')
  })

  test('detects entries that were written with another secret', async () => {
    const { entries } = await operator.call('verifyAuditLog')
    const forger = createAuditLog([new Secret('a guess of more than thirty-two characters')])
    await expectUndone(async (database) => {
      await forger.append(database, by, { action: 'test', target: null })
      expect(await auditLog.verify(database)).toMatchObject({ brokenAt: Number(entries) + 1 })
    })
  })

  test('after a rotation, old entries are verified with the old secret as long as it is listed', async () => {
    const newer = new Secret('a newer secret of more than thirty-two characters')
    const both = createAuditLog([newer, new Secret(auditSecret)])
    await expectUndone(async (database) => {
      await both.append(database, by, { action: 'test', target: null })
      expect(await both.verify(database)).toMatchObject({ brokenAt: undefined })
      expect(await createAuditLog([newer]).verify(database)).toMatchObject({ brokenAt: 1 })
    })
  })

  /** Runs the work with write access to the log, and rolls it back. */
  const expectUndone = async (work: (database: Database) => Promise<void>) => {
    const undone = new Error('everything as it was')
    const tampered = gateway.database.postgres.transaction(async (database) => {
      await allowChanges(database)
      await work(database)
      throw undone
    })
    await expect(tampered).rejects.toBe(undone)
  }

  test.each(Object.entries(tamperings))('detects %s', async (name, tampering) => {
    let found: Verification | undefined
    await expectUndone(async (database) => {
      await database.query(tampering)
      await database.query('update audit_log set sequence = -sequence where sequence < -1')
      found = await auditLog.verify(database)
    })
    expect(found?.brokenAt).toBe(name === 'an entry put in front' ? 1 : 4)
    expect(await operator.call('verifyAuditLog')).toMatchObject({ is_intact: true })
  })

  test('reads a long log to its end and finds a changed entry', async () => {
    const { postgres } = gateway.database
    const { entries } = await operator.call('verifyAuditLog')
    await postgres.transaction(async (database) => {
      for (let index = 0; index < 2_100; index += 1)
        await auditLog.append(database, by, {
          action: 'test',
          target: null,
          after: { index, text: 'ä\u{1f40b}', rate: 1.5 },
        })
    })
    expect(await operator.call('verifyAuditLog')).toMatchObject({ is_intact: true, entries: entries + 2_100 })
    await postgres.transaction(async (database) => {
      await allowChanges(database)
      await database.query(`update audit_log set target = 'x' where sequence = $1`, [entries + 1_900])
      await database.query('alter table audit_log enable trigger audit_log_is_append_only')
    })
    expect(await operator.call('verifyAuditLog')).toMatchObject({
      is_intact: false,
      broken_at: entries + 1_900,
      entries: entries + 1_899,
    })
  })
})
