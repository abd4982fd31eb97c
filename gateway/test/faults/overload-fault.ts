/** Far more creates than the service can take. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import { modelNames, modelOf } from './fault-stack.ts'
import type { FloodOrder, FloodResult } from './flood.ts'
import type { Fault } from './run-fault.ts'

const file = fileURLToPath(new URL('flood.ts', import.meta.url))
/** Two to three times what the service confirms if everything, this flood included, shares two processors. */
const perSecond = 600
const confirmedWithinMs = 2_000
const durationMs = 20_000
/** So many that the limits of one customer, by default 60 creates per minute, do not prevent the overload. */
const customers = 400

const runFlood = async (order: FloodOrder): Promise<FloodResult> => {
  const child = fork(file, { execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  child.send(order)
  const [result] = (await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`the flood ended with ${code}`)
    }),
  ])) as [FloodResult]
  return result
}

export const overloadFaults = {
  overload: {
    isLong: true,
    // The accepted tasks are more than are completed in a minute.
    recoveredWithinMs: 300_000,
    run: async ({ stack, client, report, note }) => {
      const startedAtMs = Date.now()
      // Most creates have to be refused, whoever sends them; the customers of the other faults retry.
      const { sent, statuses, accepted, lateMs } = await runFlood({
        ...{ origins: stack.origins, customers: await client.addCustomers(customers) },
        ...{
          models: modelNames.map((name) => modelOf[name]),
          prefix: 'A storm, take ',
          perSecond,
          durationMs,
        },
      })
      const soon = accepted.filter(({ tookMs }) => tookMs < confirmedWithinMs)
      report('creates of the flood confirmed within 2 s', soon.length / accepted.length, 0.99)
      const timesMs = accepted.map(({ tookMs }) => tookMs).toSorted((one, other) => one - other)
      const p99Ms = timesMs[Math.ceil(timesMs.length * 0.99) - 1] ?? Number.NaN
      const rejected = (statuses['429'] ?? 0) + (statuses['503'] ?? 0)
      note(`p99 of confirmed creates ${Math.round(p99Ms)} ms`)
      note(`the flood itself late by ${Math.round(lateMs)} ms (p99)`)
      note(`rejected ${Math.round((rejected / sent) * 100)} % of ${sent} creates`)
      note(`flood of ${(sent / accepted.length).toFixed(1)} times what was confirmed`)
      client.creates.push(
        ...accepted.map(({ prompt, taskId }) => ({
          ...{ prompt, taskId, startedAtMs, isSettled: true, attempts: 1 },
        })),
      )
    },
  },
} satisfies Record<string, Fault>
