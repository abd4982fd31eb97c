import { defaultScopes, type KeyScope } from '@kinora/contract/key-scope'
import type { LimitGroup } from '@kinora/contract/operation'
import type { OperatorRole } from '@kinora/contract/operator-key'

import type { Database } from '../platform/postgres.ts'
import type { KeyKind } from './key-text.ts'

export interface KeyRecord {
  id: string
  accountId: string | null
  accountStatus: 'active' | 'suspended' | null
  kind: KeyKind
  /** Null for a customer's key. */
  role: OperatorRole | null
  name: string
  hint: string
  hash: Buffer
  /** Without effect for an operator's key. */
  scopes: KeyScope[]
  models: string[] | null
  addresses: string[] | null
  expiresAt: Date | null
  isDisabled: boolean
  /** Found by the previous secret of a rotated key. After its overlap it is refused like an unknown key. */
  isOldSecret: boolean
  requestsPerMinute: number | null
  limits: Partial<Record<LimitGroup, number>>
  dialect: 'reference' | 'openai'
  hasQuota: boolean
}

/** Where the key is found by the secret before its last rotation, it expires with the overlap. */
const keySelection = (
  isPrevious: string,
) => `select k.id, k.account_id as "accountId", a.status as "accountStatus", k.kind, k.role, k.name, k.hint,
     case when ${isPrevious} then k.previous_hash else k.hash end as hash, k.scopes, k.models, k.addresses,
     case when ${isPrevious} then least(k.expires_at, k.previous_expires_at) else k.expires_at end as "expiresAt",
     k.disabled_at is not null as "isDisabled", k.is_old_secret or ${isPrevious} as "isOldSecret",
     k.requests_per_minute as "requestsPerMinute", k.limits, k.dialect, q.key_id is not null
       or exists (select from key_budgets b where b.key_id = k.id) as "hasQuota"
       from keys k
       left join accounts a on a.id = k.account_id
       left join key_quotas q on q.key_id = k.id`

/** Finds a key by its hash under any of the secrets in use; deleted keys are not found. */
export const findKey = async (database: Database, hashes: Buffer[]): Promise<KeyRecord | undefined> => {
  const { rows } = await database.query<{ [Field in keyof KeyRecord]: KeyRecord[Field] }>(
    `${keySelection('k.hash <> all($1)')} where (k.hash = any($1) or k.previous_hash = any($1)) and k.deleted_at is null`,
    [hashes],
  )
  return rows[0]
}

/** Finds a key by its id, for actions on the key's behalf. */
export const findKeyById = async (database: Database, id: string): Promise<KeyRecord | undefined> => {
  const { rows } = await database.query<{ [Field in keyof KeyRecord]: KeyRecord[Field] }>(
    `${keySelection('false')} where k.id = $1 and k.deleted_at is null`,
    [id],
  )
  return rows[0]
}

/** The account of a key, deleted or not; undefined for an operator's key and an unknown one. */
export const findAccountOfKey = async (database: Database, id: string): Promise<string | undefined> => {
  const { rows } = await database.query<{ accountId: string | null }>(
    'select account_id as "accountId" from keys where id = $1',
    [id],
  )
  return rows[0]?.accountId ?? undefined
}

export interface NewKey {
  id: string
  accountId: string | null
  kind: KeyKind
  /** Required for an operator's key. */
  role?: OperatorRole
  name: string
  hash: Buffer
  hint: string
  scopes?: KeyScope[]
  models?: string[]
  addresses?: string[]
  expiresAt?: Date
  requestsPerMinute?: number
  limits?: Partial<Record<LimitGroup, number>>
  quotaMicros?: number
}

/** Adds a key; an existing hash is left unchanged. */
export const insertKey = async (database: Database, key: NewKey): Promise<void> => {
  const { rowCount } = await database.query(
    `insert into keys (id, account_id, kind, name, hash, hint, models, addresses, expires_at, requests_per_minute, limits, role, scopes)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) on conflict (hash) do nothing`,
    [
      key.id,
      key.accountId,
      key.kind,
      key.name,
      key.hash,
      key.hint,
      key.models ?? null,
      key.addresses ?? null,
      key.expiresAt ?? null,
      key.requestsPerMinute ?? null,
      JSON.stringify(key.limits ?? {}),
      key.role ?? null,
      key.scopes ?? defaultScopes,
    ],
  )
  if (rowCount === 1 && key.quotaMicros !== undefined) {
    await database.query('insert into key_quotas (key_id, quota_micros) values ($1, $2)', [
      key.id,
      key.quotaMicros,
    ])
  }
}

export const deleteKey = async (database: Database, id: string): Promise<void> => {
  await database.query('update keys set deleted_at = now() where id = $1 and deleted_at is null', [id])
}

export const insertAccount = async (
  database: Database,
  account: { id: string; name: string },
): Promise<void> => {
  await database.query('insert into accounts (id, name) values ($1, $2) on conflict (id) do nothing', [
    account.id,
    account.name,
  ])
}

export const findAccountByName = async (database: Database, name: string): Promise<string | undefined> => {
  const { rows } = await database.query<{ id: string }>(
    'select id from accounts where name = $1 order by created_at limit 1',
    [name],
  )
  return rows[0]?.id
}
