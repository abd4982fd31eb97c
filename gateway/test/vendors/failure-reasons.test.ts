/** A provider accepts a job and fails it later: operators see the reason at the attempt, callers never see the vendor's message. */
import { afterAll, beforeAll, expect, test } from 'vitest'

import { accountSecrets } from '../../../dev/vendor/control.ts'
import { ask, askJson } from '../kit/answers.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { startStack, type Stack } from '../kit/stack.ts'
import { type Adapter, adaptersAt, upstreamModelOf } from './adapters.ts'

const apiKey = 'vendor-key-of-tests'

let stack: Stack
let operator: Operator
let adapters: Adapter[]

beforeAll(async () => {
  stack = await startStack({
    // Also starts the built-in provider.
    provider: 'local',
    routingConfig: (vendor) => {
      adapters = adaptersAt(vendor)
      const pace = { pollIntervalMsMin: 250, pollIntervalMsMax: 1_000 }
      return {
        providers: {
          ...Object.fromEntries(
            adapters.map(({ name, kind, own, path = '' }) => {
              const settings = { kind, baseUrl: vendor.url + path, apiKey, resultOrigins: [vendor.url] }
              return [name, { ...settings, ...pace, ...own }]
            }),
          ),
          'built-in': { kind: 'local', ...pace },
        },
        models: {
          ...Object.fromEntries(
            adapters.map((adapter) => [
              adapter.model,
              { routes: [{ provider: adapter.name, model: upstreamModelOf(adapter) }] },
            ]),
          ),
          'vidB-2': { routes: [{ provider: 'built-in' }] },
        },
      }
    },
  })
  operator = await createOperator(stack)
})
afterAll(() => stack[Symbol.asyncDispose]())

/** Creates a video, waits for its end, and returns it as seen by an operator and by its caller. */
const ended = async (model: string, prompt: string) => {
  const create = async () => {
    const { body } = await askJson(`${stack.url}/v1/video/create`, stack.key, { model, prompt })
    return String(body['id'])
  }
  const id = model.startsWith('vidB') ? await stack.create(prompt) : await create()
  const { postgres } = stack.database
  await stack.until(`${id} has ended`, async () => {
    // A result that is not a video would be requested again until the deadline.
    await postgres.query(
      `update open_tasks set deadline_at = now(), next_poll_at = now()
        where task_id = $1 and stage = 'waiting' and failed_downloads > 0 and deadline_at > now()`,
      [id],
    )
    return (await postgres.query('select from open_tasks where task_id = $1', [id])).rowCount === 0
  })
  const { body } = await operator.ask('getTask', { id })
  const task = body as { provider_attempts?: object[] }
  const seen = await Promise.all([
    ask(`${stack.url}/v1/videos/${id}`, stack.key),
    ask(`${stack.url}/v1/video/query?id=${encodeURIComponent(id)}`, stack.key),
  ])
  return { task, seen: JSON.stringify(seen.map(({ body }) => body)) }
}

test.for(['openai', 'openai-lookup', 'openai-plain', 'kinora', 'gemini', 'fal', 'replicate', 'ai-sdk'])(
  '%s',
  async (name) => {
    const adapter = adapters.find((each) => each.name === name)
    const { task, seen } = await ended(
      adapter?.model ?? '',
      'A whale vendor:fail=server_error vendor:tells-too-much',
    )
    expect(task).toMatchObject({ status: 'failed', error: { code: 'upstream_error' } })
    expect(task.provider_attempts).toMatchObject([
      { provider: name, outcome: 'accepted', failure_reason: expect.stringContaining('simulated vendor') },
    ])
    const told = JSON.stringify(task.provider_attempts)
    for (const secret of [apiKey, new URL(stack.vendor.url).host, ...accountSecrets]) {
      expect(told).not.toContain(secret)
    }
    expect(seen).toContain('upstream_error')
    expect(seen).not.toContain('simulated vendor')
  },
)

test('the built-in provider', async () => {
  const { task, seen } = await ended('vidB-2', 'A whale sim:fail=upstream_error')
  expect(task.provider_attempts).toMatchObject([
    { outcome: 'accepted', failure_reason: expect.stringContaining('Simulated failure requested') },
  ])
  expect(seen).not.toContain('asked for this failure')
})

test('an invalid result has a reason; a completed video has none', async () => {
  const unplayable = await ended('vidA3.1', 'A whale vendor:bad-media')
  expect(unplayable.task.provider_attempts).toMatchObject([
    { outcome: 'accepted', failure_reason: expect.stringContaining('not a playable video') },
  ])
  const well = await ended('vidA3.1', 'A whale')
  expect(well.task).toMatchObject({ status: 'completed', provider_attempts: [{ failure_reason: null }] })
})
