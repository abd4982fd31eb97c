/** Two vendors behind one model: who is asked, who is asked next, and who never is. */
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'

import { startVendor, type Vendor } from '../../../dev/vendor/vendor.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { startStack, type Stack } from '../kit/stack.ts'

const apiKey = 'vendor-key-of-tests'

/** The one that is asked first is the stack's own; this is the other. */
let second: Vendor
let stack: Stack
let operator: Operator

beforeAll(async () => {
  second = await startVendor({ apiKey, durationMs: 300 })
  const provider = (url: string) => ({
    ...{ kind: 'openai', baseUrl: url, apiKey, idempotentSubmits: true, slots: 20 },
    ...{ pollIntervalMsMin: 250, pollIntervalMsMax: 1_000, submitTimeoutMs: 60_000 },
  })
  stack = await startStack({
    routingConfig: ({ url }) => ({
      // Nothing listens there, so that nothing can have arrived.
      providers: { first: provider(url), second: provider(second.url), away: provider('http://127.0.0.1:9') },
      models: {
        'vidB-2-pro': {
          routes: [
            { provider: 'away', order: 1 },
            { provider: 'second', order: 2 },
          ],
        },
        'vidB-2': {
          routes: [
            { provider: 'first', order: 1 },
            { provider: 'second', order: 2 },
          ],
        },
      },
    }),
  })
  operator = await createOperator(stack)
})
afterAll(async () => {
  await stack[Symbol.asyncDispose]()
  await second.close()
})

beforeEach(async () => {
  await operator.call('resetProviderHealth', { id: 'first' })
})

/** As an operator reads it. */
interface TaskRead {
  status: string
  provider: string
  error: { code: string } | null
  provider_attempts: { outcome: string; exchanges: object[] }[]
}

const ended = async (id: string): Promise<TaskRead> => {
  const { postgres } = stack.database
  const open = async () => (await postgres.query('select from open_tasks where task_id = $1', [id])).rowCount
  await stack.until(`${id} has ended`, async () => (await open()) === 0)
  return (await operator.ask('getTask', { id })).body as unknown as TaskRead
}

test('one that says it is busy is passed over at once, and both attempts are on record', async () => {
  stack.vendor.faults.busySubmits = 1
  const id = await stack.create('A whale before noon')
  const task = await ended(id)
  expect(task).toMatchObject({ status: 'completed', provider: 'second' })
  expect(task.provider_attempts).toMatchObject([
    { attempt: 1, provider: 'first', outcome: 'busy', reason: expect.stringContaining('order 1') },
    { attempt: 2, provider: 'second', outcome: 'accepted', skipped: [{ provider: 'first' }] },
  ])
  const [refused] = task.provider_attempts[0]?.exchanges ?? []
  expect(refused).toMatchObject({ what: 'submit', method: 'POST', path: '/v1/videos', status: 429 })
  const told = JSON.stringify(task.provider_attempts)
  for (const secret of [apiKey, new URL(stack.vendor.url).host, 'before noon'])
    expect(told).not.toContain(secret)
})

test('while one is away its tasks are made by the other, and those that waited for it too', async () => {
  const model = 'vidB-2-pro'
  const ids = await Promise.all(Array.from({ length: 12 }, (_, n) => stack.create(`Whale ${n}`, { model })))
  // It stays left alone, however long the others take.
  const { postgres } = stack.database
  const leaveAlone = () =>
    postgres.query(`update route_health set open_until = now() + interval '1 hour' where provider = 'away'`)
  await stack.until('it is left alone', async () => ((await leaveAlone()).rowCount ?? 0) > 0)
  await postgres.notify('route_health', '')
  const tasks = await Promise.all(ids.map(ended))
  expect(tasks.map(({ status, provider }) => ({ status, provider }))).toEqual(
    ids.map(() => ({ status: 'completed', provider: 'second' })),
  )
  const later = await ended(await stack.create('One more whale', { model }))
  expect(later.provider_attempts).toMatchObject([
    { provider: 'second', skipped: [{ provider: 'away', reason: expect.stringContaining('breaker open') }] },
  ])
})

test('one that may have the job keeps it, though another would be free', async () => {
  const before = second.counts().submits
  const id = await stack.create('A vendor:drop-reply whale vendor:duration=1500ms')
  const task = await ended(id)
  expect(task).toMatchObject({ status: 'completed', provider: 'first' })
  expect(task.provider_attempts.map(({ outcome }) => outcome)).toEqual(['unknown', 'taken'])
  expect(second.counts().submits).toBe(before)
  expect(stack.vendor.jobs().filter(({ prompt }) => prompt.includes('drop-reply'))).toHaveLength(1)
})

test('what one refuses for what it is, nobody else is asked for', async () => {
  const before = second.counts().submits
  const task = await ended(await stack.create('A vendor:reject=content_policy_violation whale'))
  expect(task).toMatchObject({ status: 'failed', error: { code: 'content_policy_violation' } })
  expect(second.counts().submits).toBe(before)
})

test('however many callers poll, a vendor is asked once per turn of its own pace', async () => {
  const id = await stack.create('A whale vendor:duration=3000ms')
  const { url, key } = stack
  const before = stack.vendor.counts().polls
  await stack.until('it has begun', async () => stack.vendor.counts().polls > before)
  const polls = Array.from({ length: 200 }, () =>
    fetch(`${url}/v1/videos/${id}`, { headers: { authorization: `Bearer ${key}` } }).then((answer) =>
      answer.json(),
    ),
  )
  await Promise.all(polls)
  await ended(id)
  // At least 250 ms lie between two of them.
  expect(stack.vendor.counts().polls - before).toBeLessThan(16)
})
