/** Workers that are told to stop while they submit tasks to a vendor with neither idempotent submits nor lookups. */
import { fileURLToPath } from 'node:url'

import { expect, test } from 'vitest'

import { mutate, runWith, withoutDrain } from '../faults/mutation.ts'
import { isLongForm } from '../kit/long-form.ts'
import type { RoleProcess } from '../kit/role-process.ts'
import { startStack, type Stack, type StackOptions } from '../kit/stack.ts'

const rounds = isLongForm ? 10 : 1
const tasksAtOnce = isLongForm ? 20 : 8
const options: StackOptions = {
  workers: 2,
  providerSettings: { idempotentSubmits: false },
  // A task whose submit is lost fails then. On a machine that stands still at times, others take long as well.
  environment: { TASK_DEADLINE_SECONDS: isLongForm ? '90' : '600' },
}

const createTasks = (stack: Stack) =>
  Promise.all(Array.from({ length: tasksAtOnce }, () => stack.create('A vendor:slow-reply=2000 whale')))

/** Usually no response has arrived then. */
const untilSubmitting = (stack: Stack) =>
  stack.until('all submits have begun', async () => {
    const { accepted = 0, starting = 0 } = await stack.stages()
    return accepted + starting === 0
  })

const untilIdle = (stack: Stack) =>
  stack.until('all tasks have ended', async () => Object.keys(await stack.stages()).length === 0)

/** Restarts one worker after the other, each while it submits tasks; returns the number of tasks. */
const restartAll = async (stack: Stack, start: (worker: RoleProcess) => Promise<void>): Promise<number> => {
  for (const worker of stack.workers) {
    await createTasks(stack)
    await untilSubmitting(stack)
    // The engine has new work at once, which the other worker has to get.
    const [code] = await Promise.all([worker.stop(), createTasks(stack)])
    expect(code).toBe(0)
    await start(worker)
  }
  return 2 * tasksAtOnce * stack.workers.length
}

test('planned restarts of all workers lose no submit', async () => {
  await using stack = await startStack(options)
  const { vendor, workers } = stack
  let tasks = 0
  for (let round = 0; round < rounds; round += 1) tasks += await restartAll(stack, (worker) => worker.start())
  await untilIdle(stack)
  console.log(`${rounds * workers.length} planned restarts of workers, ${tasks} tasks:`, await stack.states())
  await stack.assertLedger({ completed: tasks, failed: 0 })

  await createTasks(stack)
  await untilSubmitting(stack)
  // Without its streams to the engine, which starts again, a worker still waits for the responses.
  process.kill(stack.engine.pid() ?? 0, 'SIGKILL')
  await Promise.all(workers.map((worker) => worker.stop()))
  const { rows } = await stack.database.postgres.query('select from open_tasks where upstream is null')
  expect(rows).toEqual([])
  expect(vendor.jobs()).toHaveLength(tasks + tasksAtOnce)
  await workers[0]?.start()
  await untilIdle(stack)
  await stack.assertLedger({ completed: tasks + tasksAtOnce, failed: 0 })
  expect(vendor.counts().submits).toBe(tasks + tasksAtOnce)
})

test('the control finds the text that it changes', () => {
  mutate(withoutDrain)
})

test.for(isLongForm ? [withoutDrain] : [])(
  'a worker that waits for streams loses submits',
  async (mutation) => {
    const { execArguments, environment } = runWith(mutation)
    await using stack = await startStack({
      ...options,
      environment: { ...options.environment, ...environment, NODE_OPTIONS: execArguments.join(' ') },
    })
    const source = fileURLToPath(new URL('../../../cli/src/kinora.ts', import.meta.url))
    for (const worker of stack.workers) {
      await worker.stop()
      await worker.startVersion(source)
    }
    const tasks = await restartAll(stack, (worker) => worker.startVersion(source))
    await untilIdle(stack)
    const { failed = 0 } = await stack.states()
    console.log(`without the guard, 2 planned restarts fail ${failed} of ${tasks} tasks`)
    expect(failed).toBeGreaterThan(0)
  },
)
