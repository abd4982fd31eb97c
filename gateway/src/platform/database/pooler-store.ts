/** What a pooler between this process and PostgreSQL changes. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'

import type { Database, Postgres } from '../postgres.ts'

const heardWithinMs = 2_000

/** Whether notifications arrive. Through a pooler in transaction mode they do not, and nothing reports it. */
export const hearsNotifications = async (postgres: Postgres): Promise<boolean> => {
  const channel = `doctor_${randomUUID().replaceAll('-', '')}`
  const over = new AbortController()
  const listening = await postgres.listen(channel, (payload) => {
    if (payload === channel) over.abort()
  })
  try {
    await postgres.notify(channel, channel)
    await pause(heardWithinMs, undefined, { signal: over.signal }).catch(() => undefined)
    return over.signal.aborted
  } finally {
    await listening.stop()
  }
}

/** The defaults of DATABASE_STATEMENT_TIMEOUT_MS and DATABASE_LOCK_TIMEOUT_MS. */
const limits: Record<string, string> = { statement_timeout: '10s', lock_timeout: '5s' }

/** The statements that give the role its timeouts, which a pooler refuses at the start of a connection. */
export const findTimeoutFixes = async (database: Database): Promise<string[]> => {
  const { rows } = await database.query<{ role: string; setting: string }>(
    `select quote_ident(current_user) as role, quote_ident(name) as setting from pg_settings
      where name in ('statement_timeout', 'lock_timeout') and setting = '0' order by name desc`,
  )
  return rows.map(({ role, setting }) => `alter role ${role} set ${setting} = '${limits[setting]}';`)
}
