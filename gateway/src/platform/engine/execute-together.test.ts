import { expect, test } from 'vitest'

import { executeTogether } from './execute-together.ts'
import type { Run } from './run-key.ts'

const [failing, long] = [1, 2].map((run) => ({ taskId: `task-${run}`, run })) as [Run, Run]
const stopping = new AbortController().signal

/** A call of a run that fails and of one that goes on until `end` is called. */
const startBoth = (startAlone: (run: Run) => Promise<void>) => {
  const { promise, resolve: end } = Promise.withResolvers<void>()
  const execute = async (run: Run) => {
    if (run === failing) throw new Error('failed')
    await promise
  }
  return { call: executeTogether([failing, long], execute, { startAlone, pauseMs: 1, stopping }), end }
}

test('a run that fails is started alone while the others go on, also if starting it fails at first', async () => {
  const starts: Run[] = []
  const { call, end } = startBoth(async (run) => {
    starts.push(run)
    if (starts.length < 3) throw new Error('the engine is unreachable')
  })
  await expect.poll(() => starts).toEqual([failing, failing, failing])
  end()
  await call
})

test('the engine repeats the call if a run can neither be executed nor be started alone, once all have ended', async () => {
  const { call, end } = startBoth(() => Promise.reject(new Error('the engine is unreachable')))
  end()
  await expect(call).rejects.toThrow('failed')
})
