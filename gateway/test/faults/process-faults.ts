/** Processes that are killed or stop for a while. */
import { setTimeout as sleep } from 'node:timers/promises'

import type { FaultStack } from './fault-stack.ts'
import type { Part } from './part.ts'
import type { Fault } from './run-fault.ts'
import { killRestateAtSubmit, pauseWorkerAtSubmit } from './submit-races.ts'

const downMs = 1_000

/** Kills the processes at the same moment and starts them again a little later. */
const killed = (
  partsOf: (stack: FaultStack) => Part[] | Promise<Part[]>,
  more: Omit<Fault, 'run'> = {},
): Fault => ({
  ...more,
  run: async ({ stack }) => {
    const parts = await partsOf(stack)
    await Promise.all(parts.map((part) => part.kill()))
    await sleep(downMs)
    await Promise.all(parts.map((part) => part.start()))
  },
})

const paused = (partOf: (stack: FaultStack) => Part | Promise<Part>, ms: number): Fault => ({
  run: async ({ stack }) => {
    const part = await partOf(stack)
    part.pause()
    await sleep(ms)
    part.resume()
  },
})

export const processFaults = {
  'kill api': killed(({ apis }) => [apis[0]]),
  'kill worker': killed(async (stack) => [await stack.busiestWorker()], { isQuick: true }),
  'kill both workers': killed(({ workers }) => [...workers]),
  'kill restate': { run: ({ stack }) => stack.restate.kill() },
  'kill postgres': killed(({ postgres }) => [postgres]),
  'kill redis': killed(({ redis }) => [redis]),
  // The vendor loses its jobs, because they are in memory.
  'kill vendor': killed(({ vendors }) => [vendors.repeatable], { mayFail: true }),
  'pause redis': {
    run: async ({ stack: { redis }, reportCreates }) => {
      redis.pause()
      await reportCreates(20_000)
      redis.resume()
    },
  },
  'pause api': paused(({ apis }) => apis[0], 15_000),
  'pause worker': paused((stack) => stack.busiestWorker(), 60_000),
  'kill restate at a submit': { run: killRestateAtSubmit },
  'pause worker at a submit': { run: pauseWorkerAtSubmit },
} satisfies Record<string, Fault>
