import { afterAll, beforeAll, expect, test } from 'vitest'

import { startStack, type Stack } from '../kit/stack.ts'

const count = 50
/** The tasks of all tests so far. */
let created = 0
let stack: Stack
beforeAll(async () => {
  stack = await startStack({ vendorDurationMs: 1_500, slots: 30 })
})
afterAll(() => stack[Symbol.asyncDispose]())

/** Creates fifty tasks and waits until some are at the vendor. */
const startFifty = async () => {
  for (let areAtVendor = false; !areAtVendor;) {
    created += count
    await Promise.all(Array.from({ length: count }, (_, index) => stack.create(`A whale, number ${index}`)))
    // A machine that stood still may have missed that moment. Then it is the next fifty.
    await stack.until('tasks are at the vendor, or all are completed', async () => {
      const { waiting = 0, ...others } = await stack.stages()
      areAtVendor = waiting >= 10
      return areAtVendor || (waiting === 0 && Object.keys(others).length === 0)
    })
  }
}

const expectEnds = async (name: string) => {
  const ms = await stack.until(
    'all tasks are completed',
    async () => (await stack.states())['completed'] === created,
  )
  console.log(`${name} killed and started again: all ${count} completed ${Math.round(ms)} ms later`)
  await stack.assertLedger({ completed: created, failed: 0 })
  const jobs = stack.vendor.jobs()
  expect(new Set(jobs.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(created)
  expect(jobs.length).toBe(created)
}

test('a killed worker loses none of fifty tasks and charges each once', async () => {
  await startFifty()
  await stack.workers[0]?.kill()
  await stack.workers[0]?.start()
  await expectEnds('worker')
})

test('a killed engine loses none of fifty tasks and charges each once', async () => {
  await startFifty()
  const pid = stack.engine.pid()
  if (pid === undefined) throw new Error('the engine is not running')
  process.kill(pid, 'SIGKILL')
  await expectEnds('engine')
})

test('a killed API process loses none of fifty tasks and charges each once', async () => {
  await startFifty()
  await stack.api.kill()
  await stack.api.start()
  await expectEnds('API')
})
