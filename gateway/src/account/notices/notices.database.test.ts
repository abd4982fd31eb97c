import { afterAll, beforeAll, expect, test } from 'vitest'

import { createDatabase, type TestDatabase } from '../../../test/kit/database.ts'
import { acceptedAt, daysAgo } from '../../../test/kit/expired.ts'
import { createAccount, createKey, endTask } from '../../../test/kit/factories.ts'
import type { ModelConfig } from '../../models/model.ts'
import { createLog } from '../../platform/log.ts'
import { sendDeprecationNotices, sendKeyNotices } from './send-notices.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

const query = async <Row extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
  (await database.postgres.query<Row>(text, values)).rows
const log = createLog({ level: 'silent' }, 'test')
const eventsOf = (accountId: string) =>
  query('select type, object_id as id, data from account_events where account_id = $1 order by number', [
    accountId,
  ])

const dayMs = 86_400_000
const inDays = (days: number) => new Date(Math.floor(Date.now() / 1000) * 1000 + days * dayMs)

test('an account is told once of each key and expiry, within seven days', async () => {
  const { postgres } = database
  const accountId = await createAccount(postgres)
  const soon = inDays(6)
  const { id } = await createKey(postgres, accountId, { expiresAt: soon, name: 'night' })
  for (const expiresAt of [inDays(8), inDays(-1)]) await createKey(postgres, accountId, { expiresAt })
  const disabled = await createKey(postgres, accountId, { expiresAt: soon })
  await query('update keys set disabled_at = now() where id = $1', [disabled.id])
  const notices = { database: postgres, log, models: () => [] }
  await Promise.all([sendKeyNotices(notices), sendKeyNotices(notices)])
  await sendKeyNotices(notices)
  const seconds = soon.getTime() / 1000
  const told = {
    ...{ type: 'key.expiring', id },
    data: { id, object: 'key', name: 'night', hint: expect.any(String), expires_at: seconds },
  }
  expect(await eventsOf(accountId)).toEqual([told])
  await query(`update keys set expires_at = expires_at - interval '1 day' where id = $1`, [id])
  await sendKeyNotices(notices)
  expect(await eventsOf(accountId)).toEqual([
    told,
    { ...told, data: { ...told.data, expires_at: seconds - 86_400 } },
  ])
})

test('an account that has used a deprecated model is told once, others are not', async () => {
  const { postgres } = database
  const used = async () => {
    const accountId = await createAccount(postgres)
    const keyId = (await createKey(postgres, accountId)).id
    const task = await acceptedAt(postgres, { accountId, keyId }, daysAgo(0))
    await endTask(postgres, task.id, { kind: 'failed', code: 'upstream_error', message: '' })
    return accountId
  }
  const [first, unconcerned] = [await used(), await createAccount(postgres)]
  const [row] = await query<{ model: string }>('select model from usage_entries where account_id = $1', [
    first,
  ])
  const model = {
    ...{ id: row?.model, state: 'deprecated', shutdownDate: '2027-01-31', successor: 'vidB-3' },
  } as ModelConfig
  const other = { ...model, id: 'another', state: 'active' } as ModelConfig
  const send = (models: ModelConfig[]) =>
    sendDeprecationNotices({ database: postgres, log, models: () => models }, new AbortController().signal)
  await send([{ ...model, state: 'active' }, other])
  expect(await eventsOf(first)).toEqual([])
  await send([model, other])
  await send([model, other])
  const data = {
    ...{ id: model.id, object: 'model', state: 'deprecated' },
    ...{ shutdown_date: '2027-01-31', successor: 'vidB-3' },
  }
  const told = [{ type: 'model.deprecated', id: model.id, data }]
  expect(await eventsOf(first)).toEqual(told)
  expect(await eventsOf(unconcerned)).toEqual([])
  // One that begins to use it later.
  const later = await used()
  await send([model])
  expect(await eventsOf(later)).toEqual(told)
  expect(await eventsOf(first)).toEqual(told)
})
