/**
 * Detects that the database has stopped responding. After a query without a response, a probe decides: if it gets no
 * response either, every query fails at once until a probe succeeds. Otherwise each request would wait for its own
 * timeout, and requests would pile up. A single connection that hangs does not count, because the probe uses a new one.
 */
import type { Log } from './log.ts'
import { DatabaseStalled, isUnanswered } from './postgres-errors.ts'

export interface StallDetector {
  /** Throws `DatabaseStalled` while the database does not respond. */
  assertResponding: () => void
  /** Call it with every error of a query. */
  observe: (error: unknown) => void
  stop: () => void
}

const probeEveryMs = 1_000

export const createStallDetector = (probe: () => Promise<void>, log: Log): StallDetector => {
  let isProbing = false
  let isStalled = false
  let isStopped = false
  let timer: NodeJS.Timeout | undefined

  const check = async () => {
    isProbing = true
    try {
      await probe()
    } catch (error) {
      // Any other error, such as a refused connection, is a response: queries then fail by themselves, without a wait.
      if (isUnanswered(error)) {
        if (!isStalled) log.error({ err: error }, 'postgres.stalled')
        isStalled = true
        if (isStopped) return
        timer = setTimeout(() => void check(), probeEveryMs)
        timer.unref()
        return
      }
    }
    if (isStalled) log.info('postgres.responding')
    isStalled = false
    isProbing = false
  }

  return {
    assertResponding: () => {
      if (isStalled) throw new DatabaseStalled('the database does not respond')
    },
    observe: (error) => {
      const { cause } = (error ?? {}) as { cause?: unknown }
      if (isProbing || !(isUnanswered(error) || isUnanswered(cause))) return
      log.warn({ err: error }, 'postgres.no-response')
      void check()
    },
    stop: () => {
      isStopped = true
      clearTimeout(timer)
    },
  }
}
