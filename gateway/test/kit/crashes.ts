/** Simulates a crash between any two statements of a transaction, or between the commit and its confirmation. */
import { CommitOutcomeUnknown } from '../../src/platform/postgres-errors.ts'
import type { Database, Postgres } from '../../src/platform/postgres.ts'

class Crash extends Error {
  override name = 'Crash'
}

class LostCommit extends CommitOutcomeUnknown {
  override name = 'LostCommit'
}

export const isCrash = (error: unknown): boolean => error instanceof Crash || error instanceof LostCommit

/** Where the next transaction crashes: before a statement, after the commit, or not at all. */
export type CrashPlan = () => { beforeStatement: number } | 'after-commit' | undefined

export const crashing = (postgres: Postgres, plan: CrashPlan): Postgres => ({
  ...postgres,
  transaction: async (work, options) => {
    const crash = plan()
    if (crash === undefined) return postgres.transaction(work, options)
    if (crash === 'after-commit') {
      await postgres.transaction(work, options)
      throw new LostCommit('the commit was not confirmed')
    }
    let left = crash.beforeStatement
    return postgres.transaction(async (database) => {
      const crashingDatabase: Database = {
        query: (text, values) => {
          left -= 1
          return left < 0
            ? Promise.reject(new Crash('crashed before a statement'))
            : database.query(text, values)
        },
      }
      const result = await work(crashingDatabase)
      // The transaction has fewer statements than planned, so it crashes before the commit.
      if (left >= 0) throw new Crash('crashed before the commit')
      return result
    }, options)
  },
})

/** Deterministic numbers from 0 to 1. */
export const randomOf = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
