import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { startVendor, type Vendor } from '../../../dev/vendor/vendor.ts'
import { createDatabase, type TestDatabase } from '../kit/database.ts'
import { startStack, type Stack } from '../kit/stack.ts'
import { startProxy, type TestProxy } from '../kit/start-gateway.ts'

test('a submit with an unknown outcome is never repeated at a vendor without idempotent submits', async () => {
  await using stack = await startStack({
    providerSettings: { idempotentSubmits: false },
    environment: { TASK_DEADLINE_SECONDS: '20' },
  })
  await stack.create('A vendor:drop-reply whale')
  await stack.until('the task has ended', async () => (await stack.states())['failed'] === 1)
  expect(stack.vendor.jobs().length).toBe(1)
  expect(stack.vendor.counts().submits).toBe(1)
  await stack.assertLedger({ completed: 0, failed: 1 })
})

describe('a vendor with lookups', () => {
  let database: TestDatabase
  let databaseOfWorker: TestProxy
  let vendor: Vendor
  let stack: Stack

  const apiKey = 'vendor-key-of-tests'
  const isLogged = async (event: string) =>
    (await readFile(join(stack.directory, 'logs', 'worker-0.log'), 'utf8')).includes(`"msg":"${event}"`)

  beforeAll(async () => {
    database = await createDatabase()
    databaseOfWorker = await startProxy(database.url)
    vendor = await startVendor({ apiKey, durationMs: 300 })
    stack = await startStack({
      existing: { database, vendor },
      providerSettings: { idempotentSubmits: false, lookup: true },
      roleEnvironments: { worker: { DATABASE_URL: databaseOfWorker.url, DRAIN_SECONDS: '0' } },
    })
  })
  afterAll(async () => {
    await stack[Symbol.asyncDispose]()
    await vendor.close()
    await databaseOfWorker[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
  })

  test('resolves an unknown outcome without a second submit', async () => {
    await stack.create('A vendor:drop-reply whale')
    await stack.until('the task has ended', async () => (await stack.states())['completed'] === 1)
    expect(vendor.counts().submits).toBe(1)
    await stack.assertLedger({ completed: 1, failed: 0 })
  })

  test('a worker that has to stop while its database is down records the response to a submit first', async () => {
    const [worker] = stack.workers
    const id = await stack.create('A vendor:slow-reply=3000 whale')
    await stack.until('the vendor has the submit', async () => vendor.counts().submits === 2)
    await databaseOfWorker.cut()
    await stack.until('the response could not be recorded', () => isLogged('postgres.write-repeated'))
    const stopped = worker?.stop()
    await Promise.race([
      stack.until('the drain is over', () => isLogged('process.waits-for-records')),
      stopped?.then((code) => Promise.reject(new Error(`the worker exited with ${code}`))),
    ])
    await databaseOfWorker.mend()
    expect(await stopped).toBe(0)
    const { rows } = await database.postgres.query(
      `select upstream is not null as "isRecorded" from open_tasks where task_id = $1`,
      [id],
    )
    expect(rows).toEqual([{ isRecorded: true }])
    await worker?.start()
    await stack.until('the task has ended', async () => (await stack.states())['completed'] === 2)
    expect(vendor.counts().submits).toBe(2)
  })
})
