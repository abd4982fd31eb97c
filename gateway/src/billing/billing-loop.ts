/** Renews subscription cycles and audits the ledger, every minute in each worker. */
import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import { createAuditTick } from './ledger/audit-ledger.ts'
import { renewCycles } from './subscriptions/subscriptions.ts'

const everyMs = 60_000

export const startBillingLoop = (dependencies: {
  postgres: Postgres
  log: Log
}): { stop: () => Promise<void> } => {
  const { log } = dependencies
  const audit = createAuditTick(dependencies)
  const tick = async () => {
    try {
      const renewed = await renewCycles(dependencies)
      if (renewed > 0) log.info({ renewed }, 'subscriptions.renewed')
      await audit()
    } catch (error) {
      log.warn({ err: error }, 'billing.tick-failed')
    }
  }
  let running: Promise<void> | undefined
  const runTick = () => {
    running ??= tick().finally(() => {
      running = undefined
    })
  }
  runTick()
  const timer = setInterval(runTick, everyMs)
  return {
    stop: async () => {
      clearInterval(timer)
      await running
    },
  }
}
