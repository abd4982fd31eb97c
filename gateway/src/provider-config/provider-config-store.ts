/** The provider and model configs that operators set at run time. The database notifies every process of each change. */
import type { Database } from '../platform/postgres.ts'
import { openSecret } from '../platform/sealed-secret.ts'
import type { Secret } from '../platform/secret.ts'
import type { RawConfig } from './validate-config.ts'

export interface ProviderOverride {
  name: string
  config: RawConfig
  apiKey: Secret | undefined
  /** A key is stored, but none of the configured secrets decrypts it. */
  isCredentialUnreadable: boolean
  /** It accepts no new jobs and finishes the ones it has. */
  isRemoved: boolean
}

export interface ConfigOverrides {
  providers: ProviderOverride[]
  models: Record<string, RawConfig>
}

/** A row of `provider_configs`; the credential is encrypted. */
export interface ProviderRecord {
  name: string
  config: RawConfig
  credential: Buffer | null
  credentialHint: string | null
  removedAt: Date | null
  updatedAt: Date
}

const columns = `name, settings as config, credential, credential_hint as "credentialHint",
  removed_at as "removedAt", updated_at as "updatedAt"`

/** A removed provider is listed until its open tasks have finished. */
const isListed = `(removed_at is null
  or exists (select from open_tasks o where o.provider = name and o.stage = 'accepted')
  or exists (select from open_tasks o where o.provider = name and o.stage <> 'accepted'))`

export const listProviderRecords = async (database: Database): Promise<ProviderRecord[]> => {
  const { rows } = await database.query<ProviderRecord & Record<string, unknown>>(
    `select ${columns} from provider_configs where ${isListed} order by name`,
  )
  return rows
}

/** Serializes changes until the transaction ends, because routes and providers refer to each other. */
export const lockProviderConfig = async (database: Database): Promise<void> => {
  await database.query("select pg_advisory_xact_lock(hashtextextended('kinora:provider-config', 0))")
}

export const findProviderRecord = async (
  database: Database,
  name: string,
): Promise<ProviderRecord | undefined> => {
  const { rows } = await database.query<ProviderRecord & Record<string, unknown>>(
    `select ${columns} from provider_configs where name = $1 and ${isListed}`,
    [name],
  )
  return rows[0]
}

export const writeProviderRecord = async (
  database: Database,
  {
    name,
    config,
    credential,
    credentialHint,
  }: Pick<ProviderRecord, 'name' | 'config' | 'credential' | 'credentialHint'>,
): Promise<void> => {
  await database.query(
    `insert into provider_configs (name, settings, credential, credential_hint) values ($1, $2, $3, $4)
     on conflict (name) do update set settings = excluded.settings, credential = excluded.credential,
       credential_hint = excluded.credential_hint, removed_at = null, updated_at = now()`,
    [name, JSON.stringify(config), credential, credentialHint],
  )
}

/** The provider accepts no new jobs from now on. */
export const removeProviderRecord = async (database: Database, name: string): Promise<void> => {
  await database.query(
    'update provider_configs set removed_at = now(), updated_at = now() where name = $1 and removed_at is null',
    [name],
  )
}

/** Deletes the override with its key, which restores the file's config. */
export const deleteProviderRecord = async (database: Database, name: string): Promise<void> => {
  await database.query('delete from provider_configs where name = $1', [name])
}

/**
 * Deletes removed providers without open tasks, and their keys. The delay covers processes that learned of the removal
 * late and submitted one more task.
 */
export const deleteRemovedProviders = async (database: Database): Promise<void> => {
  await database.query(
    `delete from provider_configs where removed_at < now() - interval '5 minutes' and not ${isListed}`,
  )
}

/** The settings of all models, or only of these. */
export const listModelRecords = async (
  database: Database,
  models: string[] | null = null,
): Promise<Record<string, RawConfig>> => {
  const { rows } = await database.query<{ model: string; settings: RawConfig }>(
    'select model, settings from model_configs where $1::text[] is null or model = any($1) order by model',
    [models],
  )
  return Object.fromEntries(rows.map(({ model, settings }) => [model, settings]))
}

export const findModelRecord = async (database: Database, model: string): Promise<RawConfig | undefined> => {
  const { rows } = await database.query<{ settings: RawConfig }>(
    'select settings from model_configs where model = $1',
    [model],
  )
  return rows[0]?.settings
}

export const writeModelRecord = async (
  database: Database,
  model: string,
  config: RawConfig,
): Promise<void> => {
  await database.query(
    `insert into model_configs (model, settings) values ($1, $2)
     on conflict (model) do update set settings = excluded.settings, updated_at = now()`,
    [model, JSON.stringify(config)],
  )
}

/** The videos and recordings of a model that have not ended. */
export const countOpenTasks = async (database: Database, model: string): Promise<number> => {
  const { rows } = await database.query<{ count: number }>(
    `select (select count(*) from open_tasks where model = $1)::int +
            (select count(*) from open_transcriptions o join transcription_tasks t on t.day = o.day and t.id = o.task_id
              where t.model = $1)::int as count`,
    [model],
  )
  return rows[0]?.count ?? 0
}

export const removeModelRecord = async (database: Database, model: string): Promise<void> => {
  await database.query('delete from model_configs where model = $1', [model])
}

/** Reads the settings of all models. Unchanged ones keep their identity, so that they are not validated again. */
const createReadModels = () => {
  let known = new Map<string, { text: string; settings: RawConfig }>()
  return async (database: Database): Promise<Record<string, RawConfig>> => {
    const { rows } = await database.query<{ model: string; text: string }>(
      'select model, settings::text as text from model_configs order by model',
    )
    known = new Map(
      rows.map(({ model, text }) => {
        const earlier = known.get(model)
        if (earlier?.text === text) return [model, earlier]
        return [model, { text, settings: JSON.parse(text) as RawConfig }]
      }),
    )
    return Object.fromEntries([...known].map(([model, { settings }]) => [model, settings]))
  }
}

/** Reads all overrides and decrypts the keys. A key that cannot be decrypted does not affect other providers. */
export const createReadOverrides = (secrets: Secret[]) => {
  const readModels = createReadModels()
  return async (database: Database): Promise<ConfigOverrides> => {
    const records = await listProviderRecords(database)
    return {
      providers: records.map(({ name, config, credential, removedAt }) => {
        const apiKey =
          credential === null
            ? undefined
            : openSecret(secrets, { purpose: 'provider credential', name }, credential)
        return {
          name,
          config,
          apiKey,
          isCredentialUnreadable: credential !== null && apiKey === undefined,
          isRemoved: removedAt !== null,
        }
      }),
      models: await readModels(database),
    }
  }
}
