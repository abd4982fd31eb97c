import { expect, test } from 'vitest'

import { ask } from '../kit/answers.ts'
import { startStack, type Stack } from '../kit/stack.ts'

const completed = (stack: Stack, count: number) =>
  stack.until('all tasks are completed', async () => (await stack.states())['completed'] === count)

test('creates and reads work without the engine, and the backlog completes once it is back', async () => {
  await using stack = await startStack({ vendorDurationMs: 200 })
  await stack.engine.stop()
  const ids = await Promise.all(
    Array.from({ length: 20 }, (_, index) => stack.create(`A backlog, number ${index}`)),
  )
  const read = await ask(`${stack.url}/v1/videos/${ids[0]}`, stack.key)
  expect(read.body).toMatchObject({ id: ids[0], status: 'pending', progress: 0, video_url: null })
  await stack.engine.start()
  const ms = await completed(stack, 20)
  console.log(`engine restarted: a backlog of 20 completed ${Math.round(ms)} ms later`)
  await stack.assertLedger({ completed: 20, failed: 0 })
})

test('after the engine lost all its data, fifty tasks in every stage end once and are charged once', async () => {
  await using stack = await startStack({ vendorDurationMs: 2_000, slots: 30, probeDelaySeconds: 0.5 })
  const creates = Array.from({ length: 50 }, (_, index) =>
    // Some end soon, some are accepted slowly, some wait at the vendor, and twenty have no slot yet.
    stack.create(
      ['A vendor:duration=50ms whale', 'A vendor:slow-reply=1500 whale', 'A whale'][index % 3] + ` ${index}`,
    ),
  )
  await Promise.all(creates)
  // A machine that stands still may miss that moment.
  await stack.until('tasks are in every stage, or half are completed', async () => {
    const found: Record<string, number> = { ...(await stack.stages()), ...(await stack.states()) }
    const stages = ['accepted', 'submitting', 'waiting', 'storing', 'completed']
    return stages.every((stage) => (found[stage] ?? 0) > 0) || (found['completed'] ?? 0) >= 25
  })
  console.log(
    'stages when the data was deleted',
    JSON.stringify({ ...(await stack.stages()), ...(await stack.states()) }),
  )
  const pid = stack.engine.pid()
  if (pid !== undefined) process.kill(pid, 'SIGKILL')
  await stack.engine.stop()
  await stack.engine.empty()
  await stack.engine.start()
  const ms = await completed(stack, 50)
  console.log(`engine restarted empty: all 50 completed ${Math.round(ms)} ms later`)
  await stack.assertLedger({ completed: 50, failed: 0 })
  expect(stack.vendor.jobs().length).toBe(50)
})
