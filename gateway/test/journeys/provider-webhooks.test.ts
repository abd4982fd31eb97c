import { expect, test } from 'vitest'

import { startStack } from '../kit/stack.ts'

test('a vendor that brings its news: every task ends by them alone, also those whose submit was never answered', async () => {
  await using stack = await startStack({
    routingConfig: ({ url }) => ({
      providers: {
        queue: {
          kind: 'fal',
          baseUrl: url,
          apiKey: 'vendor-key-of-tests',
          webhooks: true,
          jwksUrl: `${url}/.well-known/jwks.json`,
          // Longer than the test may take: who only asked would never hear of an end.
          pollIntervalMsMin: 120_000,
          pollIntervalMsMax: 120_000,
        },
      },
      models: { 'vidB-2': { provider: 'queue', upstreamModel: 'maker/film' } },
    }),
  })
  const lost = await stack.create('A vendor:drop-reply whale')
  await stack.create('A whale')
  await stack.create('A whale vendor:news=twice')
  // Its news come before the answer to its submit does.
  await stack.create('A whale vendor:slow-reply=700ms vendor:duration=0ms')
  await stack.create('A whale vendor:fail=content_policy_violation')
  await stack.until('all have ended', async () => (await stack.states())['completed'] === 4, 60_000)
  await stack.until('none is open', async () => Object.keys(await stack.stages()).length === 0)

  expect(stack.vendor.counts()).toMatchObject({ submits: 5, accepted: 5, cancels: 0 })
  const { rows } = await stack.database.postgres.query(
    'select outcome, is_duplicate as "isDuplicate" from task_attempts where task_id = $1',
    [lost],
  )
  expect(rows).toEqual([{ outcome: 'unknown', isDuplicate: false }])
  await stack.assertLedger({ completed: 4, failed: 1 })
})
