import type { Log } from '../log.ts'
import { connectPostgres } from '../postgres.ts'

/** Past a pooler, and without the timeouts that the role of the database may have for it. */
export const connectDirectly = (
  { DATABASE_URL, DATABASE_DIRECT_URL }: { DATABASE_URL: string; DATABASE_DIRECT_URL: string | undefined },
  connectionsMax: number,
  log: Log,
) => {
  const url = DATABASE_DIRECT_URL ?? DATABASE_URL
  const isUnlimited = DATABASE_DIRECT_URL !== undefined
  return { url, postgres: connectPostgres({ url, connectionsMax, isUnlimited }, log) }
}
