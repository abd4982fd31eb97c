import type { Database } from '../platform/postgres.ts'

/** A session that has not ended. */
export interface SessionRecord {
  id: string
  hash: Buffer
  /** The hash of the customer's key when it signed in: a new secret of the key ends the session. */
  keyHash: Buffer | null
  operatorKeyHash: Buffer | null
  /** When it ends if it stays unused. */
  endsAt: Date
  endsInMs: number
  /** Whether its last use is to be written. */
  isDue: boolean
}

const idleTime = `interval '12 hours'`

/** When a session ends if it stays unused. */
export const sessionEnd = (table: string): string =>
  `least(${table}.expires_at, ${table}.last_used_at + ${idleTime})`

/** Finds a session by the hash of its token under any of the secrets in use. */
export const findSession = async (
  database: Database,
  hashes: Buffer[],
): Promise<SessionRecord | undefined> => {
  const { rows } = await database.query<{ [Field in keyof SessionRecord]: SessionRecord[Field] }>(
    `select s.id, s.hash, s.key_hash as "keyHash", s.operator_key_hash as "operatorKeyHash",
            ${sessionEnd('s')} as "endsAt",
            ceil(extract(epoch from ${sessionEnd('s')} - now()) * 1000)::bigint as "endsInMs",
            s.last_used_at < now() - interval '1 minute' as "isDue"
       from console_sessions s where s.hash = any($1) and ${sessionEnd('s')} > now()`,
    [hashes],
  )
  return rows[0]
}

/** Writes the use of a session, at most once a minute; a session that has ended stays so. */
export const touchSession = async (database: Database, id: string): Promise<void> => {
  await database.query(
    `update console_sessions s set last_used_at = now()
      where s.id = $1 and s.last_used_at < now() - interval '1 minute' and ${sessionEnd('s')} > now()`,
    [id],
  )
}
