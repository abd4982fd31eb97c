import { expect, test } from 'vitest'

import { startStack } from '../kit/stack.ts'

test('with webhooks every task ends without polls, even if its submit got no response', async () => {
  await using stack = await startStack({
    routingConfig: ({ url }) => ({
      providers: {
        queue: {
          kind: 'fal',
          baseUrl: url,
          apiKey: 'vendor-key-of-tests',
          webhooks: true,
          jwksUrl: `${url}/.well-known/jwks.json`,
          // Longer than the test: a task that depends on polls would not end.
          pollIntervalMsMin: 600_000,
          pollIntervalMsMax: 600_000,
        },
      },
      models: { 'vidB-2': { provider: 'queue', upstreamModel: 'maker/film' } },
    }),
  })
  const unanswered = await stack.create('A vendor:drop-reply whale')
  await stack.create('A whale')
  await stack.create('A whale vendor:webhook=twice')
  // Its webhook arrives before the response to its submit.
  await stack.create('A whale vendor:slow-reply=700ms vendor:duration=0ms')
  await stack.create('A whale vendor:fail=content_policy_violation')
  await stack.until('all have ended', async () => (await stack.states())['completed'] === 4)
  await stack.until('none is open', async () => Object.keys(await stack.stages()).length === 0)

  expect(stack.vendor.counts()).toMatchObject({ submits: 5, accepted: 5, cancels: 0 })
  const { rows } = await stack.database.postgres.query(
    'select outcome, is_duplicate as "isDuplicate" from task_attempts where task_id = $1',
    [unanswered],
  )
  expect(rows).toEqual([{ outcome: 'unknown', isDuplicate: false }])
  await stack.assertLedger({ completed: 4, failed: 1 })
})
