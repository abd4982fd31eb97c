/** Webhooks that are forged, stale, brought twice, out of order, too early or too late. */
import { expect, test } from 'vitest'

import { startWebhookGateway } from '../kit/webhook-gateway.ts'
import { isFull } from './findings.ts'
import { proveWebhooks } from './prove-webhooks.ts'

test('each job has its one effect, and no forgery has any', async ({ task }) => {
  const count = isFull ? 2_000 : 200
  await using gateway = await startWebhookGateway()
  const proof = await proveWebhooks(gateway, count)
  const { deliveries, tasks, forgeries, forgeriesBelieved, wrongTasks } = proof
  task.meta.line = `${deliveries} deliveries for ${tasks} tasks, ${forgeries} of them forged or stale`
  task.meta.findings = {
    tasks,
    faults: deliveries,
    lost: wrongTasks.length,
    forgeries: forgeriesBelieved,
  }
  expect(proof).toEqual({
    deliveries: count,
    tasks: count / 10,
    forgeries: expect.any(Number),
    forgeriesBelieved: 0,
    genuineRefused: 0,
    wrongTasks: [],
  })
  expect(forgeries).toBeGreaterThan(count / 4)
})
