/** What operators set up while the service runs. Each change is announced by the database to every process. */
import type { Database } from '../platform/postgres.ts'
import type { Secret } from '../platform/secret.ts'
import { openCredential } from './sealed-credential.ts'

/** A provider or a model's routes as they are written in the file, and as they were sent. */
export type Entry = Record<string, unknown>

export interface ProviderEntryConfig {
  name: string
  entry: Entry
  apiKey: Secret | undefined
  /** It has a key, and none of the configured secrets opens it. */
  isSealedShut: boolean
  /** It takes nothing new and finishes what it has. */
  isRemoved: boolean
}

export interface Entries {
  providers: ProviderEntryConfig[]
  models: Record<string, Entry>
}

/** A provider's entry without what is secret about it. */
export interface ProviderRecord {
  name: string
  entry: Entry
  credential: Buffer | null
  credentialHint: string | null
  removedAt: Date | null
  updatedAt: Date
}

const columns = `name, settings as entry, credential, credential_hint as "credentialHint",
  removed_at as "removedAt", updated_at as "updatedAt"`

/** A removed one is left out once it has nothing to finish. */
const isThere = `(removed_at is null
  or exists (select from open_tasks o where o.provider = name and o.stage = 'accepted')
  or exists (select from open_tasks o where o.provider = name and o.stage <> 'accepted'))`

export const listProviderRecords = async (database: Database): Promise<ProviderRecord[]> => {
  const { rows } = await database.query<ProviderRecord & Record<string, unknown>>(
    `select ${columns} from provider_configs where ${isThere} order by name`,
  )
  return rows
}

/** Whoever else would change the setup waits until this transaction ends: routes and providers depend on each other. */
export const lockProviderConfig = async (database: Database): Promise<void> => {
  await database.query("select pg_advisory_xact_lock(hashtextextended('kinora:setup', 0))")
}

export const findProviderRecord = async (
  database: Database,
  name: string,
): Promise<ProviderRecord | undefined> => {
  const { rows } = await database.query<ProviderRecord & Record<string, unknown>>(
    `select ${columns} from provider_configs where name = $1 and ${isThere}`,
    [name],
  )
  return rows[0]
}

export const writeProviderRecord = async (
  database: Database,
  {
    name,
    entry,
    credential,
    credentialHint,
  }: Pick<ProviderRecord, 'name' | 'entry' | 'credential' | 'credentialHint'>,
): Promise<void> => {
  await database.query(
    `insert into provider_configs (name, settings, credential, credential_hint) values ($1, $2, $3, $4)
     on conflict (name) do update set settings = excluded.settings, credential = excluded.credential,
       credential_hint = excluded.credential_hint, removed_at = null, updated_at = now()`,
    [name, JSON.stringify(entry), credential, credentialHint],
  )
}

/** Takes nothing new from now on. */
export const removeProviderRecord = async (database: Database, name: string): Promise<void> => {
  await database.query(
    'update provider_configs set removed_at = now(), updated_at = now() where name = $1 and removed_at is null',
    [name],
  )
}

/** Forgets it at once, key and all: what the file says of it counts again. */
export const forgetProviderRecord = async (database: Database, name: string): Promise<void> => {
  await database.query('delete from provider_configs where name = $1', [name])
}

/**
 * Forgets removed providers that have finished what they had, and with them their keys. Not at once: another process may
 * have heard of the removal late and have given them one more task.
 */
export const forgetRemovedProviders = async (database: Database): Promise<void> => {
  await database.query(
    `delete from provider_configs where removed_at < now() - interval '5 minutes' and not ${isThere}`,
  )
}

export const listModelRecords = async (database: Database): Promise<Record<string, Entry>> => {
  const { rows } = await database.query<{ model: string; settings: Entry }>(
    'select model, settings from model_configs order by model',
  )
  return Object.fromEntries(rows.map(({ model, settings }) => [model, settings]))
}

export const writeModelRecord = async (database: Database, model: string, entry: Entry): Promise<void> => {
  await database.query(
    `insert into model_configs (model, settings) values ($1, $2)
     on conflict (model) do update set settings = excluded.settings, updated_at = now()`,
    [model, JSON.stringify(entry)],
  )
}

export const removeModelRecord = async (database: Database, model: string): Promise<void> => {
  await database.query('delete from model_configs where model = $1', [model])
}

/** All of it, with the keys opened. One that cannot be opened is said to be so, and stops nobody. */
export const readOverrides = async (database: Database, secrets: Secret[]): Promise<Entries> => {
  const records = await listProviderRecords(database)
  return {
    providers: records.map(({ name, entry, credential, removedAt }) => {
      const apiKey = credential === null ? undefined : openCredential(secrets, name, credential)
      return {
        name,
        entry,
        apiKey,
        isSealedShut: credential !== null && apiKey === undefined,
        isRemoved: removedAt !== null,
      }
    }),
    models: await listModelRecords(database),
  }
}
