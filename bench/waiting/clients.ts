/** Clients that wait, in a process of their own. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import type { HoldReport, HoldRequest, Waiting } from './hold-clients.ts'

export interface WaitingClients extends AsyncDisposable {
  /** Resolves when all of them wait. */
  open: (kind: Waiting, count: number) => Promise<HoldReport>
  close: (kind: Waiting) => Promise<HoldReport>
  report: () => Promise<HoldReport>
}

export const startWaitingClients = async (
  origin: string,
  taskIds: string[],
  keys: string[],
): Promise<WaitingClients> => {
  const child = fork(fileURLToPath(new URL('hold-clients.ts', import.meta.url)), { execArgv: [] })
  await once(child, 'message')
  const ask = async (request: HoldRequest): Promise<HoldReport> => {
    child.send(request)
    const [report] = (await once(child, 'message')) as [HoldReport]
    return report
  }
  return {
    open: (open, count) => ask({ open, count, taskIds, keys, port: Number(new URL(origin).port) }),
    close: (close) => ask({ close }),
    report: () => ask({}),
    [Symbol.asyncDispose]: async () => {
      const exited = once(child, 'exit')
      child.disconnect()
      await exited
    },
  }
}
