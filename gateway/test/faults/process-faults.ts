/** Processes that are killed or stop for a while. */
import { setTimeout as sleep } from 'node:timers/promises'

import { pauseWorkerInClaim } from './claim-race.ts'
import { completionsPerSecond } from './completions.ts'
import type { FaultStack } from './fault-stack.ts'
import { until, type Part } from './part.ts'
import type { Fault } from './run-fault.ts'
import { killRestateAtSubmit, pauseWorkerAtSubmit } from './submit-races.ts'

const downMs = 1_000
const beforeMs = 10_000
/** After this time another worker has to carry on with the work of one that does not respond. */
const takenOverMs = 15_000
const measuredMs = 45_000
const speeches = 10
/** Speech takes half a second. */
const speechBeginsMs = 200
const createsAtOnce = 30
const submitsAtOnce = 30
const createBeginsMs = 30

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

/** Stops the APIs one after the other, as an update does. */
const restartApis: Fault['run'] = async ({ stack, client, report }) => {
  let served = 0
  for (const api of stack.apis) {
    const burst = client.audio.burst(speeches)
    await sleep(speechBeginsMs)
    await api.kill('SIGTERM')
    await api.start()
    served += await burst
  }
  report('speech that the restarts did not cut', served / (stack.apis.length * speeches))
}

/** Stops the workers one after the other, as an update does, while they submit tasks whose outcome nobody could look up. */
const restartWorkers: Fault['run'] = async ({ stack, client }) => {
  for (const worker of stack.workers) {
    client.burst(submitsAtOnce, 'unknowable', 'vendor:slow-reply=2000')
    await until('tasks are being submitted', async () => {
      const submitting = await stack.postgres.query(
        `select from open_tasks where provider = 'unknowable' and stage = 'submitting'`,
      )
      return submitting.length >= submitsAtOnce / 2
    })
    await worker.kill('SIGTERM')
    await worker.start()
  }
}

/** A submit whose outcome is unknown is looked up for two minutes before it is repeated. */
const lookedUpWithinMs = 180_000

export const processFaults = {
  'kill api': {
    run: async (scene) => {
      // Speech is charged at its end, so some is under way.
      void scene.client.audio.burst(speeches)
      await sleep(speechBeginsMs)
      await killed(({ apis }) => [apis[0]]).run(scene)
    },
  },
  'restart apis': { run: restartApis },
  'restart workers': { run: restartWorkers },
  'kill worker': killed(async (stack) => [await stack.busiestWorker()], {
    isQuick: true,
    recoveredWithinMs: lookedUpWithinMs,
  }),
  'kill both workers': killed(({ workers }) => [...workers], { recoveredWithinMs: lookedUpWithinMs }),
  'kill restate': { run: ({ stack }) => stack.restate.kill() },
  'kill postgres': killed(({ postgres }) => [postgres], { stopsCreates: true }),
  'kill redis': killed(({ redis }) => [redis]),
  // The vendor loses its jobs, because they are in memory.
  'kill vendor': killed(({ vendors }) => [vendors.repeatable], {
    mayFail: true,
    isLong: true,
    recoveredWithinMs: lookedUpWithinMs,
  }),
  'pause redis': {
    isLong: true,
    run: async ({ stack: { redis }, reportCreates }) => {
      redis.pause()
      await reportCreates(20_000)
      redis.resume()
    },
  },
  'pause api': {
    run: async (scene) => {
      // Those that the API is about to commit are repeated at the other one meanwhile.
      scene.client.burst(createsAtOnce, 'repeatable')
      await sleep(createBeginsMs)
      await paused(({ apis }) => apis[0], 15_000).run(scene)
    },
  },
  'pause worker': {
    isLong: true,
    run: async (scene) => {
      await sleep(beforeMs)
      const before = await completionsPerSecond(scene, beforeMs)
      const worker = await scene.stack.busiestWorker()
      worker.pause()
      await sleep(takenOverMs + measuredMs)
      const during = await completionsPerSecond(scene, measuredMs)
      worker.resume()
      scene.report('completions by the other worker', during / before, 0.5)
    },
  },
  'kill restate at a submit': { run: killRestateAtSubmit },
  'pause worker at a submit': {
    isLong: true,
    recoveredWithinMs: lookedUpWithinMs,
    run: pauseWorkerAtSubmit,
  },
  'pause worker in a claim': { recoveredWithinMs: 30_000, run: pauseWorkerInClaim },
} satisfies Record<string, Fault>
