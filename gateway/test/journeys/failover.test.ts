/** Routing and failover of a model with two vendors. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'

import { startVendor, type Vendor } from '../../../dev/vendor/vendor.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { startStack, type Stack } from '../kit/stack.ts'

const apiKey = 'vendor-key-of-tests'

/** The fallback. The first vendor is the stack's own. */
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
      // Nothing listens on port 9, so a submit is certainly not delivered.
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

/** A task in the admin API. */
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

test('a busy provider is skipped at once, and both attempts are recorded', async () => {
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
  const attempts = JSON.stringify(task.provider_attempts)
  for (const secret of [apiKey, new URL(stack.vendor.url).host, 'before noon'])
    expect(attempts).not.toContain(secret)
})

test('while a provider is down, new and waiting tasks go to the other one', async () => {
  const model = 'vidB-2-pro'
  const ids = await Promise.all(Array.from({ length: 12 }, (_, n) => stack.create(`Whale ${n}`, { model })))
  // Keeps the breaker open for the rest of the test.
  const { postgres } = stack.database
  const keepOpen = () =>
    postgres.query(`update route_health set open_until = now() + interval '1 hour' where provider = 'away'`)
  await stack.until('the breaker is open', async () => ((await keepOpen()).rowCount ?? 0) > 0)
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

test('a task whose submit has an unknown outcome stays with its provider', async () => {
  const before = second.counts().submits
  const id = await stack.create('A vendor:drop-reply whale vendor:duration=1500ms')
  const task = await ended(id)
  expect(task).toMatchObject({ status: 'completed', provider: 'first' })
  expect(task.provider_attempts.map(({ outcome }) => outcome)).toEqual(['unknown', 'accepted'])
  expect(second.counts().submits).toBe(before)
  expect(stack.vendor.jobs().filter(({ prompt }) => prompt.includes('drop-reply'))).toHaveLength(1)
})

test('a task refused for its content is not tried at another provider', async () => {
  const before = second.counts().submits
  const task = await ended(await stack.create('A vendor:reject=content_policy_violation whale'))
  expect(task).toMatchObject({ status: 'failed', error: { code: 'content_policy_violation' } })
  expect(second.counts().submits).toBe(before)
})

test('the polls of callers do not increase the polls of the vendor', async () => {
  const id = await stack.create('A whale vendor:duration=3000ms')
  const { url, key } = stack
  const before = stack.vendor.counts().polls
  await stack.until('the job was polled', async () => stack.vendor.counts().polls > before)
  const callers = 200
  const polls = Array.from({ length: callers }, () =>
    fetch(`${url}/v1/videos/${id}`, { headers: { authorization: `Bearer ${key}` } }).then((answer) =>
      answer.json(),
    ),
  )
  await Promise.all(polls)
  await ended(id)
  expect(stack.vendor.counts().polls - before).toBeLessThan(callers / 10)
})

test('a task that waits for a provider that is removed, before the workers start again, moves to another one', async () => {
  const [worker] = stack.workers
  await worker?.stop()
  const id = await stack.create('A whale')
  // Only a provider that is unknown for longer counts as removed.
  const { rows } = await stack.database.postgres.query(
    `update open_tasks set accepted_at = accepted_at - interval '1 min' where task_id = $1 returning provider`,
    [id],
  )
  expect(rows).toEqual([{ provider: 'first' }])
  const file = join(stack.directory, 'providers.yaml')
  const config = JSON.parse(await readFile(file, 'utf8')) as Record<'providers' | 'models', object>
  const providers = Object.entries(config.providers).filter(([name]) => name !== 'first')
  await writeFile(
    file,
    JSON.stringify({
      providers: Object.fromEntries(providers),
      models: { ...config.models, 'vidB-2': { routes: [{ provider: 'second' }] } },
    }),
  )
  // The engine has no loop of the removed provider either.
  await stack.engine.stop()
  await stack.engine.empty()
  await stack.engine.start()
  await worker?.start()
  expect(await ended(id)).toMatchObject({ status: 'completed', provider: 'second' })
})
