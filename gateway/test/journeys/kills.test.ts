import { expect, test } from 'vitest'

import { startStack, type Stack } from '../kit/stack.ts'

const count = 50

/** Creates fifty tasks and waits until some are at the vendor. */
const startFifty = async (stack: Stack) => {
  await Promise.all(Array.from({ length: count }, (_, index) => stack.create(`A whale, number ${index}`)))
  await stack.until('tasks are at the vendor', async () => ((await stack.stages())['waiting'] ?? 0) >= 10)
}

const allCompleted = (stack: Stack) =>
  stack.until('all tasks are completed', async () => (await stack.states())['completed'] === count)

const expectOneJobEach = (stack: Stack) => {
  const jobs = stack.vendor.jobs()
  expect(new Set(jobs.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(count)
  expect(jobs.length).toBe(count)
}

test.concurrent('a killed worker loses none of fifty tasks and charges each once', async () => {
  await using stack = await startStack({ vendorDurationMs: 1_500, slots: 30 })
  await startFifty(stack)
  await stack.workers[0]?.kill()
  await stack.workers[0]?.start()
  const ms = await allCompleted(stack)
  console.log(`worker killed and started again: all ${count} completed ${Math.round(ms)} ms later`)
  await stack.assertLedger({ completed: count, failed: 0 })
  expectOneJobEach(stack)
})

test.concurrent('a killed engine loses none of fifty tasks and charges each once', async () => {
  await using stack = await startStack({ vendorDurationMs: 1_500, slots: 30 })
  await startFifty(stack)
  const pid = stack.engine.pid()
  if (pid === undefined) throw new Error('the engine is not running')
  process.kill(pid, 'SIGKILL')
  const ms = await allCompleted(stack)
  console.log(`engine killed and started again: all ${count} completed ${Math.round(ms)} ms later`)
  await stack.assertLedger({ completed: count, failed: 0 })
  expectOneJobEach(stack)
})

test.concurrent('a killed API process loses none of fifty tasks and charges each once', async () => {
  await using stack = await startStack({ vendorDurationMs: 1_500, slots: 30 })
  await startFifty(stack)
  await stack.api.kill()
  await stack.api.start()
  const ms = await allCompleted(stack)
  console.log(`API killed and started again: all ${count} completed ${Math.round(ms)} ms later`)
  await stack.assertLedger({ completed: count, failed: 0 })
  expectOneJobEach(stack)
})
