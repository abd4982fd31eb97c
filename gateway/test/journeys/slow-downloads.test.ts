/** One provider cannot stop the tasks of another by how it delivers its results. */
import { afterEach, expect, test } from 'vitest'

import { startVendor, type Vendor } from '../../../dev/vendor/vendor.ts'
import { manyRequests, startStack, type Stack } from '../kit/stack.ts'

const apiKey = 'vendor-key-of-tests'
/** More than the engine has slots: 4 partitions with 40 each. */
const troubledCount = 240
const healthyCount = 20

const open: AsyncDisposable[] = []
afterEach(async () => {
  for (const each of open.splice(0).toReversed()) await each[Symbol.asyncDispose]()
})

/** A stack with a healthy provider for vidB-2, and a troubled one for vidB-2-pro whose downloads have a fault. */
const startTwoProviders = async (fault: string): Promise<{ stack: Stack; troubled: Vendor }> => {
  const troubled = await startVendor({ apiKey, durationMs: 0 })
  open.push({ [Symbol.asyncDispose]: troubled.close })
  troubled.faults.fault = fault
  const provider = (baseUrl: string) => ({
    ...{ kind: 'openai', baseUrl, apiKey, idempotentSubmits: true, slots: 1_000 },
    ...{ pollIntervalMsMin: 250, pollIntervalMsMax: 2_000 },
  })
  const stack = await startStack({
    routingConfig: ({ url }) => ({
      providers: { healthy: provider(url), troubled: provider(troubled.url) },
      models: { 'vidB-2': { provider: 'healthy' }, 'vidB-2-pro': { provider: 'troubled' } },
    }),
    environment: manyRequests,
  })
  open.push(stack)
  return { stack, troubled }
}

const createMany = (stack: Stack, model: string, count: number) =>
  Promise.all(
    Array.from({ length: count }, (_, index) => stack.create(`A whale, number ${index}`, { model })),
  )

/** The number of tasks of a model in each state. */
const statesOf = async (stack: Stack, model: string): Promise<Record<string, number>> => {
  const { rows } = await stack.database.postgres.query<{ state: string; count: number }>(
    `select state, count(*) from video_tasks where model = $1 group by state`,
    [model],
  )
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
}

test.each(['drip@downloadxall', '500@downloadxall'])(
  'while every download of one provider ends in %s, the tasks of another complete',
  async (fault) => {
    const { stack, troubled } = await startTwoProviders(fault)
    // All jobs end at the same time, so that all tasks want to download at once.
    troubled.faults.neverFinishes = true
    await createMany(stack, 'vidB-2-pro', troubledCount)
    await stack.until('the provider has all jobs', async () => troubled.counts().accepted === troubledCount)
    troubled.release(0)
    await stack.until(
      'most tasks store their result',
      async () => ((await stack.stages())['storing'] ?? 0) >= 80,
    )

    await createMany(stack, 'vidB-2', healthyCount)
    await stack.until(
      'the other tasks are completed',
      async () => (await statesOf(stack, 'vidB-2'))['completed'] === healthyCount,
    )
    expect(await statesOf(stack, 'vidB-2-pro')).toEqual({ processing: troubledCount })

    // The worker dies with its permits. Once the provider recovers, every task completes and is charged once.
    await stack.workers[0]?.kill()
    await stack.workers[0]?.start()
    troubled.faults.fault = ''
    await stack.until(
      'all tasks are completed',
      async () => (await stack.states())['completed'] === troubledCount + healthyCount,
    )
    await stack.assertLedger({ completed: troubledCount + healthyCount, failed: 0 })
    expect(troubled.jobs()).toHaveLength(troubledCount)
    expect(stack.vendor.jobs()).toHaveLength(healthyCount)
  },
)
