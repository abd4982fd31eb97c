/** The previous version works on the database of this one, as it does during an upgrade and after a rollback. */
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { brokenInvariants } from '../kit/ledger.ts'
import { findCommit } from './bundle-previous.ts'
import { previousVersion } from './previous-version.ts'
import { startUpgradeStack, type Customer, type UpgradeStack } from './upgrade-stack.ts'
import { useService } from './use-service.ts'

const previous = previousVersion()
let stack: UpgradeStack
let customer: Customer

beforeAll(async () => {
  stack = await startUpgradeStack()
  await stack.runCommand(inject('command'), 'migrate')
  await Promise.all([stack.apis[0], stack.workers[0]].map((role) => role.startVersion(previous.command)))
  customer = await stack.createCustomer(previous.command)
})
afterAll(() => stack[Symbol.asyncDispose]())

const tables = async () => {
  const { rows } = await stack.database.postgres.query<{ name: string }>(
    `select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition`,
  )
  return rows.map(({ name }) => name)
}

test('every kind of operation succeeds', async () => {
  await useService(customer)
  expect(await brokenInvariants(stack.database.postgres)).toEqual([])
})

test('a column that is added to every table disturbs no process that runs', async () => {
  await useService(customer)
  for (const table of await tables())
    await stack.database.postgres.query(`alter table ${table} add column of_a_later_version text`)
  await useService(customer)
  expect(await stack.readLogs()).not.toContain('cached plan')
})

test('a column that is renamed is noticed', async () => {
  await stack.database.postgres.query('alter table video_tasks rename column video_order to request')
  await expect(useService(customer)).rejects.toThrow('POST /v1/videos')
})

test('a revision that is not in the clone is reported with what to do', async () => {
  await expect(findCommit('no-such-revision')).rejects.toThrow(
    /^The previous version, no-such-revision, was not found\. (This clone is shallow: run|A clone of the repository)/,
  )
})
