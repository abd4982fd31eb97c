/** Workers that are told to stop while they submit tasks to a vendor with neither idempotent submits nor lookups. */
import { expect, test } from 'vitest'

import { startStack, type Stack, type StackOptions } from '../kit/stack.ts'

const slowReplyMs = 2_000
const options: StackOptions = {
  providerSettings: { idempotentSubmits: false },
  // A task whose submit is lost fails then.
  environment: { TASK_DEADLINE_SECONDS: '60' },
}

const createTasks = (stack: Stack, count: number) =>
  Promise.all(Array.from({ length: count }, () => stack.create(`A vendor:slow-reply=${slowReplyMs} whale`)))

const untilSubmitting = (stack: Stack, count: number) =>
  stack.until('tasks are being submitted', async () => ((await stack.stages())['submitting'] ?? 0) >= count)

const untilIdle = (stack: Stack) =>
  stack.until('all tasks have ended', async () => Object.keys(await stack.stages()).length === 0)

test('a planned restart of every worker loses no submit', async () => {
  await using stack = await startStack({ ...options, workers: 2 })
  const { vendor, workers } = stack
  for (const worker of workers) {
    await createTasks(stack, 8)
    await untilSubmitting(stack, 8)
    // The engine has new work at once, which the other worker has to get.
    const [code] = await Promise.all([worker.stop(), createTasks(stack, 8)])
    expect(code).toBe(0)
    await worker.start()
  }
  await untilIdle(stack)
  await stack.assertLedger({ completed: 32, failed: 0 })

  await createTasks(stack, 8)
  await untilSubmitting(stack, 8)
  // Without its streams to the engine, which starts again, a worker still waits for the responses.
  process.kill(stack.engine.pid() ?? 0, 'SIGKILL')
  await Promise.all(workers.map((worker) => worker.stop()))
  const { rows } = await stack.database.postgres.query('select from open_tasks where upstream is not null')
  expect(rows).toHaveLength(8)
  await workers[0]?.start()
  await untilIdle(stack)
  await stack.assertLedger({ completed: 40, failed: 0 })
  expect(vendor.counts().submits).toBe(40)
})
