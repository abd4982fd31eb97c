/** The errors of the database that callers distinguish. */
import { NoPrimary } from './hosts/primary-finder.ts'

/** A statement exceeded the timeout of its transaction. */
export class StatementTimeout extends Error {
  override name = 'StatementTimeout'
}

/**
 * The connection was lost before the response to a commit arrived, so the transaction may have been committed or may
 * still be. Every other error of a transaction means that it was not committed.
 */
export class CommitOutcomeUnknown extends Error {
  override name = 'CommitOutcomeUnknown'
}

/** The database has stopped responding, so the query was not sent. */
export class DatabaseStalled extends Error {
  override name = 'DatabaseStalled'
}

const codeOf = (error: unknown): string => {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' ? code : ''
}
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : '')

const networkCode = /^(ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/
// Connection failed, out of resources such as connections, shut down or starting, idle for too long, or a replica.
const serverCode = /^(08...|53...|57P0.|25P0[34]|25006)$/
// The driver's errors have no codes.
const unanswered =
  /^(timeout exceeded when trying to connect|timeout expired|Connection terminated due to connection timeout|Query read timeout)/
const disconnected = /^(Connection terminated|Client (has encountered a connection error|was closed))/

/** The server has no connection, memory or disk space left for the query. */
export const isOutOfResources = (error: unknown): boolean => codeOf(error).startsWith('53')

/** The database did not answer in time. */
export const isUnanswered = (error: unknown): boolean => unanswered.test(messageOf(error))

/** The database cannot be used now: unreachable, shut down, full, or not answering. */
export const isDatabaseUnavailable = (error: unknown): boolean =>
  error instanceof DatabaseStalled ||
  error instanceof NoPrimary ||
  networkCode.test(codeOf(error)) ||
  serverCode.test(codeOf(error)) ||
  isUnanswered(error) ||
  disconnected.test(messageOf(error))

const lockTimeout = '55P03'
const statementCancelled = '57014'

/** A statement waited too long for a lock. */
export const isLockTimeout = (error: unknown): boolean => codeOf(error) === lockTimeout

/** The server cancelled a statement that took too long. */
export const isStatementCancelled = (error: unknown): boolean => codeOf(error) === statementCancelled
