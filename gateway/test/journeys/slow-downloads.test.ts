/** Providers cannot stop the tasks of another provider by how they deliver their results. */
import { expect, test } from 'vitest'

import { startVendor } from '../../../dev/vendor/vendor.ts'
import { manyRequests, startStack, type Stack } from '../kit/stack.ts'

const apiKey = 'vendor-key-of-tests'
/** Together more than the engine has slots: 4 partitions with 40 each. */
const troubledCount = 120
const healthyCount = 20

const createMany = (stack: Stack, count: number, fields: Record<string, string>) =>
  Promise.all(Array.from({ length: count }, (_, index) => stack.create(`A whale, number ${index}`, fields)))

/** The number of tasks of a provider in each state. */
const statesOf = async (stack: Stack, provider: string): Promise<Record<string, number>> => {
  const { rows } = await stack.database.postgres.query<{ state: string; count: number }>(
    `select state, count(*) from video_tasks where provider = $1 group by state`,
    [provider],
  )
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]))
}

test('while one provider trickles all results and another fails to send any, a third one completes its tasks', async () => {
  await using vendors = new AsyncDisposableStack()
  const [slow, failing] = await Promise.all([1, 2].map(() => startVendor({ apiKey })))
  if (slow === undefined || failing === undefined) throw new Error('no vendors')
  for (const { close } of [slow, failing]) vendors.defer(close)
  slow.faults.fault = 'drip@downloadxall'
  failing.faults.fault = '500@downloadxall'
  const provider = (baseUrl: string) => ({
    ...{ kind: 'openai', baseUrl, apiKey, idempotentSubmits: true, slots: 1_000 },
    ...{ pollIntervalMsMin: 250, pollIntervalMsMax: 2_000 },
  })
  await using stack = await startStack({
    routingConfig: ({ url }) => ({
      providers: { healthy: provider(url), slow: provider(slow.url), failing: provider(failing.url) },
      models: {
        'vidB-2': { provider: 'healthy' },
        'vidB-2-pro': {
          sizes: ['480x480', '720x1280'],
          routes: [
            { provider: 'slow', sizes: ['480x480'] },
            { provider: 'failing', sizes: ['720x1280'] },
          ],
        },
      },
    }),
    environment: manyRequests,
  })

  // All jobs end at the same time, so that all tasks want to download at once.
  for (const { faults } of [slow, failing]) faults.neverFinishes = true
  await createMany(stack, troubledCount, { model: 'vidB-2-pro', size: '480x480' })
  await createMany(stack, troubledCount, { model: 'vidB-2-pro', size: '720x1280' })
  await stack.until('the providers have all jobs', async () =>
    [slow, failing].every((vendor) => vendor.counts().accepted === troubledCount),
  )
  for (const vendor of [slow, failing]) vendor.release(0)
  await stack.until('enough tasks for all slots want to store their result', async () => {
    const { rows } = await stack.database.postgres.query<{ count: number }>(
      'select count(*) from open_tasks where outcome is not null',
    )
    return (rows[0]?.count ?? 0) >= 80
  })

  await createMany(stack, healthyCount, { model: 'vidB-2' })
  await stack.until('the tasks of the healthy provider are completed', async () => {
    return (await statesOf(stack, 'healthy'))['completed'] === healthyCount
  })
  for (const [name, vendor] of Object.entries({ slow, failing })) {
    expect(vendor.counts().faults).toBeGreaterThan(0)
    expect(await statesOf(stack, name)).not.toHaveProperty('completed')
  }

  // The worker dies during downloads. Once the providers recover, every task completes and is charged once.
  await stack.workers[0]?.kill()
  await stack.workers[0]?.start()
  for (const { faults } of [slow, failing]) faults.fault = ''
  const count = 2 * troubledCount + healthyCount
  await stack.until('all tasks are completed', async () => (await stack.states())['completed'] === count)
  await stack.assertLedger({ completed: count, failed: 0 })
  expect([slow, failing, stack.vendor].map((vendor) => vendor.jobs().length)).toEqual([
    troubledCount,
    troubledCount,
    healthyCount,
  ])
})
