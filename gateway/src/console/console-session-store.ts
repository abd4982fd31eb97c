import type { KeyScope } from '@kinora/contract/key-scope'
import type { OperatorRole } from '@kinora/contract/operator-key'

import { microsecondsOf } from '../admin/filter.ts'
import { sessionEnd } from '../auth/session-store.ts'
import type { Database } from '../platform/postgres.ts'

/** The keys that a session or a link stands for, with the secrets that they had then. */
export interface HeldKeys {
  keyId: string | null
  keyHash: Buffer | null
  operatorKeyId: string | null
  operatorKeyHash: Buffer | null
}

const valuesOf = ({ keyId, keyHash, operatorKeyId, operatorKeyHash }: HeldKeys) => [
  keyId,
  keyHash,
  operatorKeyId,
  operatorKeyHash,
]

export interface NewSession extends HeldKeys {
  hash: Buffer
  address: string
  userAgent: string | null
}

/** Returns the id. */
export const insertSession = async (database: Database, session: NewSession): Promise<string> => {
  const { rows } = await database.query<{ id: string }>(
    `insert into console_sessions
       (hash, key_id, key_hash, operator_key_id, operator_key_hash, expires_at, address, user_agent)
     values ($1, $2, $3, $4, $5, now() + interval '7 days', $6, $7) returning id`,
    [session.hash, ...valuesOf(session), session.address, session.userAgent],
  )
  return rows[0]?.id ?? ''
}

/** Returns the id; undefined if there was no such session. */
export const deleteSessionByHash = async (
  database: Database,
  hashes: Buffer[],
): Promise<string | undefined> => {
  const { rows } = await database.query<{ id: string }>(
    'delete from console_sessions where hash = any($1) returning id',
    [hashes],
  )
  return rows[0]?.id
}

/** Returns when it expires. */
export const insertLink = async (database: Database, hash: Buffer, keys: HeldKeys): Promise<Date> => {
  const { rows } = await database.query<{ expiresAt: Date }>(
    `insert into console_links (hash, key_id, key_hash, operator_key_id, operator_key_hash, expires_at)
     values ($1, $2, $3, $4, $5, now() + interval '5 minutes') returning expires_at as "expiresAt"`,
    [hash, ...valuesOf(keys)],
  )
  return rows[0]?.expiresAt ?? new Date(0)
}

/** Whom a link signs in, and the hashes of the keys. */
export interface LinkRow
  extends
    Pick<HeldKeys, 'keyHash' | 'operatorKeyHash'>,
    Pick<
      SessionRow,
      | ('accountId' | 'accountName' | 'keyId' | 'keyHint' | 'keyName')
      | ('operatorKeyId' | 'operatorName' | 'operatorRole')
    > {
  expiresAt: Date
}

/** Reads a link, and leaves it as it is. */
export const findLink = async (database: Database, hashes: Buffer[]): Promise<LinkRow | undefined> => {
  const { rows } = await database.query<{ [Field in keyof LinkRow]: LinkRow[Field] }>(
    `select l.key_hash as "keyHash", l.operator_key_hash as "operatorKeyHash", l.expires_at as "expiresAt",
            a.id as "accountId", a.name as "accountName", k.id as "keyId", k.hint as "keyHint", k.name as "keyName",
            o.id as "operatorKeyId", o.name as "operatorName", o.role as "operatorRole"
       from console_links l
       left join keys k on k.id = l.key_id
       left join accounts a on a.id = k.account_id
       left join keys o on o.id = l.operator_key_id
      where l.hash = any($1) and l.expires_at > now()`,
    [hashes],
  )
  return rows[0]
}

/** Uses up a link, and returns whether it was valid until then: of several uses at once, one is the first. */
export const takeLink = async (database: Database, hashes: Buffer[]): Promise<boolean> => {
  const { rowCount } = await database.query(
    'delete from console_links where hash = any($1) and expires_at > now()',
    [hashes],
  )
  return rowCount === 1
}

export interface SessionRow {
  id: string
  accountId: string | null
  accountName: string | null
  keyId: string | null
  keyHint: string | null
  keyName: string | null
  keyKind: 'payg' | 'subscription' | null
  keyScopes: KeyScope[] | null
  operatorKeyId: string | null
  operatorName: string | null
  operatorRole: OperatorRole | null
  address: string
  userAgent: string | null
  createdAt: Date
  createdMicroseconds: number
  lastUsedAt: Date
  endsAt: Date
}

/** Whether a key still has the secret that a session signed in with. */
const hasSecret = (key: string, hash: string) =>
  `(${key}.deleted_at is null and (${key}.hash = ${hash} or ${key}.previous_hash = ${hash} and ${key}.previous_expires_at > now()))`

const sessionSelection = `select s.id, a.id as "accountId", a.name as "accountName", k.id as "keyId", k.hint as "keyHint",
     k.name as "keyName", k.kind as "keyKind", k.scopes as "keyScopes", o.id as "operatorKeyId", o.name as "operatorName",
     o.role as "operatorRole", s.address, s.user_agent as "userAgent", s.created_at as "createdAt",
     ${microsecondsOf('s.created_at')} as "createdMicroseconds", s.last_used_at as "lastUsedAt",
     ${sessionEnd('s')} as "endsAt"
  from console_sessions s
  left join keys k on k.id = s.key_id
  left join accounts a on a.id = k.account_id
  left join keys o on o.id = s.operator_key_id
 where ${sessionEnd('s')} > now()
   and (${hasSecret('k', 's.key_hash')} or ${hasSecret('o', 's.operator_key_hash')})`

/** Which sessions somebody may see and end. */
export interface Visibility {
  /** Whether it is those of all keys. */
  isEverything: boolean
  /** Those of all keys of this account. */
  accountId: string | undefined
  /** Those of these keys. */
  keyIds: string[]
}

const isVisible = `($1::boolean or k.account_id = $2 or s.key_id = any($3) or s.operator_key_id = any($3))`
const visibilityValues = ({ isEverything, accountId, keyIds }: Visibility) => [
  isEverything,
  accountId ?? null,
  keyIds,
]

type Row = { [Field in keyof SessionRow]: SessionRow[Field] }

export const findSessionRow = async (database: Database, id: string): Promise<SessionRow | undefined> => {
  const { rows } = await database.query<Row>(`${sessionSelection} and s.id = $1`, [id])
  return rows[0]
}

export const listSessionRows = async (
  database: Database,
  visibility: Visibility,
  { after, limit }: { after: string[] | undefined; limit: number },
): Promise<SessionRow[]> => {
  const [micros, id] = after ?? []
  const { rows } = await database.query<Row>(
    `${sessionSelection} and ${isVisible}
        and ($4::bigint is null or (${microsecondsOf('s.created_at')}, s.id) < ($4, $5::uuid))
      order by s.created_at desc, s.id desc limit $6`,
    [...visibilityValues(visibility), micros ?? null, id ?? null, limit],
  )
  return rows
}

/** Returns whether there was such a session; its end is notified to every process. */
export const revokeSession = async (
  database: Database,
  id: string,
  visibility: Visibility,
): Promise<boolean> => {
  const { rowCount } = await database.query(
    `delete from console_sessions where id in (
       select s.id from console_sessions s left join keys k on k.id = s.key_id
        where s.id = $4 and ${sessionEnd('s')} > now() and ${isVisible})`,
    [...visibilityValues(visibility), id],
  )
  return rowCount === 1
}
