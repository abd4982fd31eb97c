import { afterEach, expect, test } from 'vitest'

import type { Count, CountingTask } from '../../test/kit/counting-model.ts'
import { createInference, InferenceBusy, type Inference, type InferenceOptions } from './inference.ts'

const never = new AbortController().signal
const opened: Inference<CountingTask, Count>[] = []
const events: string[] = []

afterEach(async () => {
  await Promise.all(opened.splice(0).map((inference) => inference.close()))
  events.length = 0
})

function open(options: Partial<InferenceOptions> = {}): Inference<CountingTask, Count> {
  const inference = createInference<CountingTask, Count>({
    name: 'counting',
    program: new URL('../../test/kit/counting-model.ts', import.meta.url),
    mostWaiting: 2,
    idleMs: 60_000,
    log: (event) => events.push(event),
    ...options,
  })
  opened.push(inference)
  return inference
}

async function all(inference: Inference<CountingTask, Count>, task: CountingTask): Promise<Count[]> {
  const chunks: Count[] = []
  for await (const chunk of inference.run(task, never)) chunks.push(chunk)
  return chunks
}

function numbers(counts: Count[]): number[] {
  return counts.map(({ number }) => number)
}

test('chunks arrive in order, and one process serves all tasks', async () => {
  const inference = open()
  const [first, second] = await Promise.all([all(inference, { until: 3 }), all(inference, { until: 2 })])
  expect(numbers(first)).toEqual([0, 1, 2, 3])
  expect(numbers(second)).toEqual([3, 1, 2])
  expect(events).toEqual(['local.model_started'])
})

test('a reader that stops reading pauses the model after a few chunks', async () => {
  const inference = open()
  const run = inference.run({ until: 1000 }, never)
  await run.next()
  await run.next()
  await run.return()
  const [next] = await all(inference, { until: 0 })
  expect(next?.number).toBeLessThanOrEqual(5)
})

test('an aborted task ends at once and the next one starts', async () => {
  const inference = open()
  const stop = new AbortController()
  const run = inference.run({ until: 1_000_000 }, stop.signal)
  const { value } = await run.next()
  stop.abort()
  await expect(run.next()).rejects.toThrow(/abort/iu)
  const after = await all(inference, { until: 1 })
  expect(after[0]?.pid).toBe(value!.pid)
})

test('a task that is aborted while it waits leaves the queue', async () => {
  const inference = open({ mostWaiting: 1 })
  const run = inference.run({ until: 10 }, never)
  await run.next()
  const stop = new AbortController()
  const waiting = inference.run({ until: 1 }, stop.signal).next()
  await expect(inference.run({ until: 1 }, never).next()).rejects.toBeInstanceOf(InferenceBusy)
  stop.abort()
  await expect(waiting).rejects.toThrow(/abort/iu)
  const patient = all(inference, { until: 1 })
  await run.return()
  expect(await patient).toHaveLength(2)
})

test('a refused task has an error code, a failed one has none, and the process continues', async () => {
  const inference = open()
  await expect(all(inference, { until: 1, refuse: true })).rejects.toMatchObject({
    code: 'too_hard',
    message: 'This is too hard.',
  })
  await expect(all(inference, { until: 1, break: true })).rejects.toMatchObject({
    code: undefined,
    message: 'Something broke.',
  })
  expect(await all(inference, { until: 1 })).toHaveLength(2)
  expect(events).toEqual(['local.model_started'])
})

test('a process that dies fails its task, and the next task gets a new process', async () => {
  const inference = open()
  const run = inference.run({ until: 1, hang: true }, never)
  const { value } = await run.next()
  process.kill(value!.pid, 'SIGKILL')
  await expect(run.next()).rejects.toMatchObject({ name: 'InferenceFailure' })
  const [next] = await all(inference, { until: 1 })
  expect(next?.pid).not.toBe(value!.pid)
})

test('a process that hangs is killed', async () => {
  const inference = open({ standstillMs: 100 })
  await expect(all(inference, { until: 1, hang: true })).rejects.toMatchObject({ name: 'InferenceFailure' })
  expect(events).toContain('local.model_hung')
})

test('an idle process ends, and a later task gets a new process', async () => {
  const inference = open({ idleMs: 1 })
  const pids = new Set<number>()
  await expect
    .poll(async () => {
      for (const { pid } of await all(inference, { until: 1 })) pids.add(pid)
      return pids.size
    })
    .toBeGreaterThan(2)
  const count = (name: string) => events.filter((event) => event === name).length
  await expect.poll(() => count('local.model_ended') - count('local.model_started')).toBe(0)
})

test('closing fails running and waiting tasks', async () => {
  const inference = open()
  const run = inference.run({ until: 1, hang: true }, never)
  await run.next()
  const running = run.next()
  const waiting = inference.run({ until: 1 }, never).next()
  const outcomes = Promise.allSettled([running, waiting])
  await inference.close()
  expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  await expect(all(inference, { until: 1 })).rejects.toMatchObject({ name: 'InferenceFailure' })
})
