/** A provider that refuses our API key is skipped, reported once and shown to operators until the key is corrected. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { startVendor, type Vendor } from '../../../dev/vendor/vendor.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { startStack, type Stack } from '../kit/stack.ts'

const apiKey = 'vendor-key-of-tests'
const wrongKey = 'sk-revoked-7c1f5e0b7d2a4963'
const speechModel = 'chat-4o-mini-tts-2025-12-15'

let second: Vendor
let stack: Stack
let operator: Operator

beforeAll(async () => {
  second = await startVendor({ apiKey, durationMs: 300 })
  const provider = (baseUrl: string, key: string) => ({
    ...{ kind: 'openai', baseUrl, apiKey: key, idempotentSubmits: true },
    ...{ pollIntervalMsMin: 250, pollIntervalMsMax: 1_000 },
  })
  const routes = [
    { provider: 'first', order: 1 },
    { provider: 'second', order: 2 },
  ]
  stack = await startStack({
    environment: { CREDENTIAL_SECRETS: 'a-secret-for-the-keys-of-providers' },
    routingConfig: ({ url }) => ({
      providers: { first: provider(url, wrongKey), second: provider(second.url, apiKey) },
      models: {
        'vidB-2': { routes },
        'vidB-2-pro': { routes: [{ provider: 'first' }] },
        [speechModel]: { routes },
      },
    }),
  })
  operator = await createOperator(stack)
})
afterAll(async () => {
  await stack[Symbol.asyncDispose]()
  await second.close()
})

/** A task in the admin API. */
interface TaskRead {
  status: string
  provider: string
  provider_attempts: object[]
}

const taskOf = async (id: string) => (await operator.ask('getTask', { id })).body as unknown as TaskRead
const ended = async (id: string) => {
  const query = 'select from open_tasks where task_id = $1'
  await stack.until(`${id} has ended`, async () => {
    return (await stack.database.postgres.query(query, [id])).rowCount === 0
  })
  return taskOf(id)
}
const speak = async () => {
  const response = await fetch(`${stack.url}/v1/audio/speech`, {
    method: 'POST',
    headers: { authorization: `Bearer ${stack.key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: speechModel, input: 'Hello there', voice: 'alloy' }),
  })
  await response.arrayBuffer()
  return response.status
}
const logged = async () => {
  const files = ['api-0.log', 'worker-0.log']
  const texts = await Promise.all(files.map((file) => readFile(join(stack.directory, 'logs', file), 'utf8')))
  return texts.join('')
}
const setKey = (key: string) =>
  operator.call('setProvider', {
    id: 'first',
    body: {
      ...{ kind: 'openai', base_url: stack.vendor.url, api_key: key },
      ...{ poll_interval_ms_min: 250, poll_interval_ms_max: 1_000 },
    },
  })
const healthOf = async (model: string) => {
  const { models, problem } = await operator.call('getProvider', { id: 'first' })
  return { problem, health: models.find((each: { model: string }) => each.model === model).health }
}

test('the provider is skipped after one call, reported once with the remedy, and shown to operators', async () => {
  const task = await ended(await stack.create('A whale'))
  expect(task).toMatchObject({ status: 'completed', provider: 'second' })
  expect(task.provider_attempts).toMatchObject([
    { provider: 'first', outcome: 'unauthorized', failure_reason: expect.stringContaining('401') },
    { provider: 'second', outcome: 'accepted', failure_reason: null },
  ])
  // Keeps the breaker open for the rest of the test.
  const { postgres } = stack.database
  const keepOpen = async () => {
    await postgres.query(
      `update route_health set open_until = now() + interval '1 hour' where provider = 'first'`,
    )
    await postgres.notify('route_health', '')
  }
  await keepOpen()
  await expect
    .poll(() => healthOf('vidB-2'))
    .toEqual({
      problem: expect.stringContaining('PUT /admin/v1/providers/first'),
      health: {
        state: 'unhealthy',
        reason: expect.stringMatching(/^breaker open for another \d{4} s: credential refused$/),
        until: expect.any(Number),
      },
    })
  const refused = stack.vendor.counts().unauthorized
  const later = await Promise.all(Array.from({ length: 3 }, (_, n) => stack.create(`Whale ${n}`)))
  for (const id of later) {
    const { provider_attempts: attempts } = await ended(id)
    expect(attempts).toMatchObject([
      {
        provider: 'second',
        skipped: [{ provider: 'first', reason: expect.stringContaining('credential') }],
      },
    ])
  }
  expect(stack.vendor.counts().unauthorized).toBe(refused)

  // A synchronous request is served by the other provider at once.
  expect(await speak()).toBe(200)
  expect(second.speeches()).toHaveLength(1)
  await keepOpen()

  const lines = (await logged()).split('\n').filter((line) => line.includes('provider.credential-refused'))
  expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
    expect.objectContaining({
      level: 50,
      provider: 'first',
      remedy: expect.stringContaining('PUT /admin/v1/providers/first'),
    }),
  ])
  expect(await logged()).not.toContain(wrongKey)
})

test('a task without another route waits until the key is corrected', async () => {
  const id = await stack.create('A whale that waits', { model: 'vidB-2-pro' })
  const attempts = async () => (await taskOf(id)).provider_attempts
  await expect.poll(async () => (await attempts())[0]).toMatchObject({ outcome: 'unauthorized' })
  await setKey(apiKey)
  expect(await ended(id)).toMatchObject({ status: 'completed', provider: 'first' })
  expect(await healthOf('vidB-2')).toEqual({
    problem: null,
    health: { state: 'healthy', reason: null, until: null },
  })
  const task = await ended(await stack.create('One more whale'))
  expect(task.provider_attempts).toMatchObject([{ provider: 'first', outcome: 'accepted' }])
})

test('a key refused while a job runs is noticed by the polls, and the job is not lost', async () => {
  const id = await stack.create('A whale vendor:never')
  await expect.poll(async () => (await taskOf(id)).status).toBe('processing')
  await setKey(wrongKey)
  await expect
    .poll(() => healthOf('vidB-2'))
    .toMatchObject({
      problem: expect.stringContaining('refuses its API key'),
      health: { state: 'unhealthy', reason: expect.stringContaining('credential refused') },
    })
  expect(await taskOf(id)).toMatchObject({ status: 'processing' })
  await setKey(apiKey)
  stack.vendor.release(0)
  expect(await ended(id)).toMatchObject({ status: 'completed', provider: 'first' })
})
