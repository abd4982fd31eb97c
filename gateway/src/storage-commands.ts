/** What `kinora storage` does. */
import { auditMedia, type MediaAudit } from './backup/audit-media.ts'
import { countReferencedFiles } from './backup/backup-store.ts'
import type { Config } from './config.ts'
import { findMissing } from './media-maintenance/find-missing.ts'
import { measureUsage, type StorageUsage } from './media-maintenance/measure-usage.ts'
import { migrateMedia, type MediaMigration } from './media-maintenance/migrate-media.ts'
import { withLongStatements } from './platform/database/long-statements.ts'
import { createLog } from './platform/log.ts'
import { assertMigrated } from './platform/migrate.ts'
import { assertUsable, connectPostgres, type Postgres } from './platform/postgres.ts'
import { findOrphans, isForeign } from './retention/orphans.ts'
import { checkStore, type StoreCheck } from './storage/check-store.ts'
import { createFallbackMediaStore } from './storage/fallback-media-store.ts'
import { createStores, type StorageSettings, type Stores } from './storage/open-storage.ts'
import type { StorePlace } from './storage/s3/bucket-url.ts'
import { startSpoolSweep } from './storage/spool-sweep.ts'

type StorageConfig = Pick<Config, 'DATABASE_URL' | 'LOG_LEVEL'> & StorageSettings

interface Progress {
  signal: AbortSignal
  onProgress: (text: string) => void
}

export interface CheckedStore {
  setting: string
  /** Without a prefix and parameters. */
  place: string
  checks: StoreCheck[]
}

const nameOf = (place: StorePlace) => (typeof place === 'string' ? place : `s3://${place.name}`)

/** Uses the stores of the configuration. Never throws because of a store. */
export const checkStores = async (settings: StorageSettings): Promise<CheckedStore[]> => {
  const { MEDIA_DIRECTORY: directory, MEDIA_STORE: bucket, MEDIA_STORE_ALSO_READ: other } = settings
  const { ERASURE_LIST: erasures } = settings
  const current: [string, StorePlace] =
    bucket === undefined ? ['MEDIA_DIRECTORY', directory] : ['MEDIA_STORE', bucket]
  const places: [string, StorePlace][] = [current]
  if (other !== undefined) places.push(['MEDIA_STORE_ALSO_READ', other])
  if (erasures !== undefined) places.push(['ERASURE_LIST', erasures])
  return Promise.all(
    places.map(async ([setting, place]) => ({
      ...{ setting, place: nameOf(place) },
      checks: await checkStore(place),
    })),
  )
}

const withStores = async <Result>(
  config: StorageConfig,
  work: (postgres: Postgres, stores: Stores) => Promise<Result>,
): Promise<Result> => {
  const connection = { url: config.DATABASE_URL, connectionsMax: 2 }
  const log = createLog({ level: config.LOG_LEVEL }, 'storage')
  const postgres = connectPostgres(connection, log)
  try {
    await assertUsable(postgres, config.DATABASE_URL)
    await assertMigrated(postgres)
    const stores = await createStores(config)
    // A migration that was killed has left copies, perhaps on a machine without roles.
    const spoolSweep = startSpoolSweep(stores.spool, log)
    return await work(withLongStatements(postgres), stores).finally(spoolSweep.stop)
  } finally {
    await postgres.close()
  }
}

export interface Migrated {
  migration: MediaMigration
  /** Undefined unless it was requested. */
  audit: MediaAudit | undefined
}

/** Copies what only the other store has into the current one. `isAudited` reads all objects of the current store afterwards. */
export const migrateToCurrent = (
  config: StorageConfig,
  { isAudited }: { isAudited: boolean },
  { signal, onProgress }: Progress,
): Promise<Migrated> =>
  withStores(config, async (postgres, { current, other }) => {
    if (other === undefined) {
      throw new Error(
        'MEDIA_STORE_ALSO_READ is not set. Set MEDIA_STORE to the new store and MEDIA_STORE_ALSO_READ to the previous one, for all roles and for this command.',
      )
    }
    const total = await countReferencedFiles(postgres)
    const migration = await migrateMedia(
      postgres,
      { source: other, target: current },
      {
        signal,
        onProgress: ({ checked, copied, copiedBytes }) =>
          onProgress(
            `Migrating: ${Math.floor((100 * checked) / Math.max(checked, total))} % of ${Math.max(checked, total)} objects; copied: ${copied}, ${Math.round(copiedBytes / 1_048_576)} MiB`,
          ),
      },
    )
    const audit = isAudited
      ? await auditMedia(postgres, current, {
          signal,
          onProgress: ({ files }) => onProgress(`Reading back: ${files} of ${total} objects`),
        })
      : undefined
    return { migration, audit }
  })

export const measureStores = (
  config: StorageConfig,
  { signal, onProgress }: Progress,
): Promise<StorageUsage> =>
  withStores(config, (postgres, stores) =>
    measureUsage(postgres, stores, {
      signal,
      onProgress: (listed) => onProgress(`Listing the store: ${listed} objects`),
    }),
  )

export interface Mismatches {
  /** Keys of objects without a row. */
  orphans: string[]
  /** The number of objects with a row. */
  known: number
  /** The number of objects that are too young to be looked for. */
  young: number
  /** Whether the store probably belongs to another database, so that no orphan may be deleted. */
  isForeign: boolean
  /** Whether the whole store was listed. */
  isWhole: boolean
  /** Keys of rows without an object. */
  missing: string[]
  deleted: number
}

/** Compares the stores with the database in both directions, and deletes objects without a row if `isDeleting`. */
export const compareStores = (
  config: StorageConfig,
  { minAgeMs, isDeleting }: { minAgeMs: number; isDeleting: boolean },
  { signal, onProgress }: Progress,
): Promise<Mismatches> =>
  withStores(config, async (postgres, { current, other }) => {
    const mediaStore = other === undefined ? current : createFallbackMediaStore(current, other)
    onProgress('Listing the store')
    const found = await findOrphans({ postgres, mediaStore }, signal, minAgeMs)
    signal.throwIfAborted()
    const orphans = [...new Set(found.keys)]
    const missing = await findMissing(postgres, mediaStore, {
      signal,
      onProgress: (checked) => onProgress(`Looking for missing objects: ${checked} rows`),
    })
    const mayDelete = isDeleting && !isForeign(found)
    if (mayDelete) await mediaStore.removeMany(orphans)
    return {
      ...{ orphans, known: found.known, young: found.young, missing },
      ...{ isForeign: isForeign(found), isWhole: found.isWhole },
      deleted: mayDelete ? orphans.length : 0,
    }
  })
