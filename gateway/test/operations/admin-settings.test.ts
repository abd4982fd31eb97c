import { afterAll, beforeAll, expect, test } from 'vitest'

import { ask, askJson, expectProblem } from '../kit/answers.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'
import { withoutIntervals } from '../kit/without-intervals.ts'

let gateway: TestGateway
let operator: Operator

beforeAll(async () => {
  gateway = await startGateway({ LIMIT_READS_PER_MINUTE: '1000', MEDIA_RETENTION_DAYS: '5' })
  operator = await createOperator(gateway)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const update = (body: object) => operator.call('updateSettings', { body })
const limitAt = async (url: string, key: string) =>
  (await ask(`${url}/v1/models`, key)).headers.get('x-ratelimit-limit')

test('come from the environment until they are changed', async () => {
  expect(await operator.call('getSettings')).toEqual({
    object: 'settings',
    limits: { create: 60, read: 1_000, audio: 120, chat: 120 },
    concurrency_per_account: null,
    concurrency_per_key: null,
    queue_length_per_account: 20_000,
    media_retention_days: 5,
    task_retention_days: 30,
    log_retention_days: 30,
  })
})

test("a changed limit takes effect on the customer's next request, in every gateway", async () => {
  const others = { LIMIT_READS_PER_MINUTE: '1000' }
  await using second = await withoutIntervals(() => startGateway(others, gateway))
  const accountId = await createAccount(gateway.database.postgres)
  const { text } = await createKey(gateway.database.postgres, accountId, { limits: {} })
  expect(await limitAt(gateway.url, text)).toBe('1000')
  const changed = await update({ limits: { read: 900 } })
  expect(changed.limits).toEqual({ create: 60, read: 900, audio: 120, chat: 120 })
  expect(await limitAt(gateway.url, text)).toBe('900')
  await expect.poll(() => limitAt(second.url, text)).toBe('900')
})

test('a change leaves other settings, null removes a limit, and changes survive a restart', async () => {
  await update({ concurrency_per_account: 4, task_retention_days: 9 })
  await update({ limits: { chat: 7 }, concurrency_per_account: null, concurrency_per_key: 2 })
  const expected = {
    limits: { read: 900, chat: 7, create: 60, audio: 120 },
    concurrency_per_account: null,
    concurrency_per_key: 2,
    task_retention_days: 9,
    media_retention_days: 5,
  }
  expect(await operator.call('getSettings')).toMatchObject(expected)
  await using second = await startGateway({ MEDIA_RETENTION_DAYS: '5' }, gateway)
  const there = await createOperator(second, operator)
  expect(await there.call('getSettings')).toMatchObject(expected)
})

test('a changed queue length takes effect', async () => {
  const accountId = await createAccount(gateway.database.postgres)
  const { text } = await createKey(gateway.database.postgres, accountId)
  const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
  await update({ queue_length_per_account: 1 })
  expect((await askJson(`${gateway.url}/v1/videos`, text, order)).status).toBe(200)
  expectProblem(await askJson(`${gateway.url}/v1/videos`, text, order), 'rate_limit_exceeded')
  await update({ queue_length_per_account: 20_000 })
  expect((await askJson(`${gateway.url}/v1/videos`, text, order)).status).toBe(200)
})

test('invalid settings are rejected', async () => {
  const refusal = (body: object) => operator.ask('updateSettings', { body })
  expectProblem(await refusal({ limits: { reads: 5 } }), 'invalid_parameter', 'limits.reads')
  expectProblem(await refusal({ limits: { read: 0 } }), 'invalid_parameter', 'limits.read')
  expectProblem(await refusal({ limits: 5 }), 'invalid_parameter', 'limits')
  expectProblem(await refusal({ task_retention_days: 0 }), 'invalid_parameter', 'task_retention_days')
  expectProblem(await refusal({ concurrency_per_key: 'many' }), 'invalid_parameter', 'concurrency_per_key')
})
