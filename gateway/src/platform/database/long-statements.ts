import type { Postgres } from '../postgres.ts'

/** For maintenance that reads or changes whole tables. It still ends, so that a lost connection is noticed. */
export const longStatementTimeoutMs = 1_800_000

/** The same database with a higher limit for each statement. */
export const withLongStatements = (postgres: Postgres): Postgres => {
  const transaction: Postgres['transaction'] = (work, options) =>
    postgres.transaction(work, { statementTimeoutMs: longStatementTimeoutMs, ...options })
  return {
    ...postgres,
    transaction,
    query: (text, values) => transaction((database) => database.query(text, values)),
  }
}
