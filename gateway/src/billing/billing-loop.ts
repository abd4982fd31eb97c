/** What every worker does for the books, each minute: cycles that are over are renewed, and the ledger is audited. */
import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import { createAuditTurn } from './ledger/audit-ledger.ts'
import { renewCycles } from './subscriptions/subscriptions.ts'

const everyMs = 60_000

export const keepBooks = (dependencies: { postgres: Postgres; log: Log }): { stop: () => Promise<void> } => {
  const { log } = dependencies
  const audit = createAuditTurn(dependencies)
  const turn = async () => {
    try {
      const renewed = await renewCycles(dependencies)
      if (renewed > 0) log.info({ renewed }, 'subscriptions.renewed')
      await audit()
    } catch (error) {
      log.warn({ err: error }, 'books.not-kept')
    }
  }
  let underWay: Promise<void> | undefined
  const turnOnce = () => {
    underWay ??= turn().finally(() => {
      underWay = undefined
    })
  }
  turnOnce()
  const timer = setInterval(turnOnce, everyMs)
  return {
    stop: async () => {
      clearInterval(timer)
      await underWay
    },
  }
}
