/** Far more creates than the service can take. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import { modelOf } from './fault-stack.ts'
import type { FloodOrder, FloodResult } from './flood.ts'
import type { Fault } from './run-fault.ts'

const file = fileURLToPath(new URL('flood.ts', import.meta.url))
const perSecond = 1_000
const durationMs = 20_000

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
    run: async ({ stack, client, reportCreates }) => {
      const startedAtMs = Date.now()
      const [{ accepted }] = await Promise.all([
        runFlood({
          ...{ origins: stack.origins, keys: await client.addAccounts(2) },
          ...{ models: Object.values(modelOf), prefix: 'A storm, take ', perSecond, durationMs },
        }),
        reportCreates(durationMs),
      ])
      client.creates.push(...accepted.map((each) => ({ ...each, startedAtMs, isSettled: true })))
    },
  },
} satisfies Record<string, Fault>
