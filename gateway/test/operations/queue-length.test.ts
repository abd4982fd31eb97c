/** How many tasks of an account may wait. There is no engine in these tests, so no task leaves the queue. */
import { afterAll, beforeAll, expect, test } from 'vitest'

import { queueDefaults } from '../../src/videos/queue/queue-limits.ts'
import { askJson, expectProblem } from '../kit/answers.ts'
import { createAccount, createKey, type TestKey } from '../kit/factories.ts'
import { recordOf, startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let accountId: string
let key: TestKey
let other: TestKey

beforeAll(async () => {
  gateway = await startGateway()
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
  other = await createKey(gateway.database.postgres, await createAccount(gateway.database.postgres))
})
afterAll(() => gateway[Symbol.asyncDispose]())

const create = (by = key) =>
  askJson(`${gateway.url}/v1/videos`, by.text, {
    model: 'vidB-2',
    prompt: 'A whale',
    seconds: '4',
    size: '480x480',
  })

/** Adds waiting tasks of the account. */
const fill = (count: number) =>
  gateway.database.postgres.query(
    `insert into open_tasks (task_id, day, account_id, key_id, seconds, provider, model, shard, accepted_at, not_before,
                             deadline_at)
     select 'filler-' || n, current_date, $1, $2, 4, 'local', 'vidB-2', 0, now(), now(), now() + interval '1 hour'
       from generate_series(1, $3) as n`,
    [accountId, key.id, count],
  )

test('an account can queue tasks up to the limit, and the next is refused without a hold', async () => {
  const length = queueDefaults.lengthPerAccount
  expect((await create(other)).status).toBe(200)
  await fill(length - 1)
  expect((await create()).status).toBe(200)
  const before = await recordOf(gateway)
  const refused = await create()
  expectProblem(refused, 'rate_limit_exceeded')
  expect(refused.body).toMatchObject({
    error: { message: expect.stringContaining(`${length} waiting tasks`) },
  })
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  expect(await recordOf(gateway)).toEqual(before)
})

test('other accounts are not affected, and a started task makes room for another', async () => {
  expect((await create(other)).status).toBe(200)
  await gateway.database.postgres.query(`update open_tasks set stage = 'starting' where task_id = 'filler-1'`)
  expect((await create()).status).toBe(200)
  expectProblem(await create(), 'rate_limit_exceeded')
})
