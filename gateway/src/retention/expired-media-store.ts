import type { Database } from '../platform/postgres.ts'
import { mediaDays } from './expiry-store.ts'
import type { RetentionDays } from './retention-days.ts'

/** An expired record and the storage keys of its files. */
export interface Expired {
  id: string
  storageKeys: string[]
}

interface Batch {
  limit: number
  /** Records that were skipped in this sweep. */
  except: string[]
}

/** How one kind of expired record is found, locked, and updated after its files were removed. */
export interface ExpiredKind<Each extends Expired> {
  find: (database: Database, batch: Batch) => Promise<Each[]>
  /** Locks the records that are still expired and not locked by another process. Runs inside a transaction. */
  claim: (database: Database, ids: string[]) => Promise<Each[]>
  markDone: (database: Database, ids: string[]) => Promise<void>
}

/** `source` is the SQL after `from`: tables and conditions. `locked` is the alias of the table whose rows are locked. */
const expiredKind = <Each extends Expired>(
  { columns, source, locked, order }: { columns: string; source: string; locked: string; order: string },
  markDone: ExpiredKind<Each>['markDone'],
): ExpiredKind<Each> => {
  const all = `select ${columns} from ${source}`
  return {
    find: async (database, { limit, except }) => {
      const { rows } = await database.query<Each & Record<string, unknown>>(
        `${all} and ${locked}.id <> all($2::uuid[]) order by ${order} limit $1`,
        [limit, except],
      )
      return rows
    },
    claim: async (database, ids) => {
      const { rows } = await database.query<Each & Record<string, unknown>>(
        `${all} and ${locked}.id = any($1::uuid[]) for update of ${locked} skip locked`,
        [ids],
      )
      return rows
    },
    markDone,
  }
}

const markRemoved = async (database: Database, ids: string[]): Promise<void> => {
  await database.query('update media set removed_at = now() where id = any($1::uuid[])', [ids])
}

const forgetFiles = async (database: Database, ids: string[]): Promise<void> => {
  await database.query('delete from media where id = any($1::uuid[])', [ids])
}

const forgetCharacters = async (database: Database, ids: string[]): Promise<void> => {
  const { rows } = await database.query<{ files: string[] }>(
    `delete from characters where id = any($1::uuid[]) returning array[clip_media_id, portrait_media_id] as files`,
    [ids],
  )
  await forgetFiles(
    database,
    rows.flatMap(({ files }) => files),
  )
}

export interface ExpiredFile extends Expired {
  taskId: string
  kind: string
}

// An unfinished remix may still need its source.
const isExpired = `m.removed_at is null and m.expires_at <= now()
  and not exists (select from open_tasks o where o.source_task_id = m.task_id)`

/** Expired results. Their rows stay, so that a read can report the expiry. */
export const expiredFiles = expiredKind<ExpiredFile>(
  {
    columns: `m.id, array[m.storage_key] as "storageKeys", m.task_id as "taskId", m.kind`,
    source: `media m where ${isExpired}`,
    locked: 'm',
    order: 'm.expires_at',
  },
  markRemoved,
)

// The images and characters of a task are inserted together with its open task and removed when it ends. The ones that
// remain belong to a process that died in between.
const isLeftOver = (made: string, taskId: string) =>
  `${made} < now() - interval '1 hour' and not exists (select from open_tasks o where o.task_id = ${taskId})`
const isLeftOverImage = `m.kind = 'reference' and ${isLeftOver('m.created_at', 'm.task_id')}`
const isLeftOverCharacter = `c.task_id is not null and ${isLeftOver('c.created_at', 'c.task_id')}`

/**
 * The expired files that no remix uses. A remix that is being created now started before its source expired and holds a
 * lock on it; without that lock, no new one can appear.
 */
export const findUnused = async (database: Database, files: ExpiredFile[]): Promise<ExpiredFile[]> => {
  const free = await database.query<{ id: string }>(
    'select id from media where id = any($1::uuid[]) for update skip locked',
    [files.map(({ id }) => id)],
  )
  // A separate statement, so that it sees everything committed before the locks were acquired.
  const unused = await database.query<{ id: string }>(
    `select m.id from media m where m.id = any($1::uuid[]) and ${isExpired}`,
    [free.rows.map(({ id }) => id)],
  )
  const ids = new Set(unused.rows.map(({ id }) => id))
  return files.filter(({ id }) => ids.has(id))
}

/** Reference images whose task has ended without removing them. */
export const leftOverImages = expiredKind<Expired>(
  {
    columns: 'm.id, array[m.storage_key] as "storageKeys"',
    source: `media m where ${isLeftOverImage}`,
    locked: 'm',
    order: 'm.created_at',
  },
  forgetFiles,
)

/** Characters made for a single task that has ended without removing them. */
export const leftOverCharacters = expiredKind<Expired>(
  {
    columns: 'c.id, array[clip.storage_key, portrait.storage_key] as "storageKeys"',
    source: `characters c join media clip on clip.id = c.clip_media_id
      join media portrait on portrait.id = c.portrait_media_id where ${isLeftOverCharacter}`,
    locked: 'c',
    order: 'c.created_at',
  },
  forgetCharacters,
)

/** Deletes the rows of removed files whose tasks have expired too; returns their number. */
export const forgetRemoved = async (database: Database, taskDays: number, limit: number): Promise<number> => {
  const { rowCount } = await database.query(
    `delete from media where id in (
       select m.id from media m left join accounts a on a.id = m.account_id
        where m.removed_at is not null
          and m.created_at < now() - make_interval(days => coalesce(a.task_retention_days, $1::integer))
        limit $2 for update of m skip locked)`,
    [taskDays, limit],
  )
  return rowCount ?? 0
}

export interface DueMedia {
  expired: number
  expiredBytes: number
  left: number
}

/** Counts expired media under the current retention settings. */
export const countDueMedia = async (
  database: Database,
  { media, task }: RetentionDays,
): Promise<DueMedia> => {
  const { rows } = await database.query<DueMedia & Record<string, number>>(
    `select count(*) as expired, coalesce(sum(m.size_bytes), 0) as "expiredBytes",
            (select count(*) from media m where ${isLeftOverImage})
            + 2 * (select count(*) from characters c where ${isLeftOverCharacter}) as left
       from media m left join media v on v.task_id = m.task_id and v.kind = 'video'
       left join accounts a on a.id = m.account_id
      where m.removed_at is null and m.expires_at is not null
        and (m.expires_at <= now() or v.created_at + make_interval(days => ${mediaDays}) <= now())`,
    [media, task],
  )
  return rows[0] ?? { expired: 0, expiredBytes: 0, left: 0 }
}

/** The storage keys among these that a row refers to. */
export const knownKeys = async (database: Database, keys: string[]): Promise<Set<string>> => {
  const { rows } = await database.query<{ key: string }>(
    `select storage_key as key from media where storage_key = any($1::text[]) and removed_at is null
     union all
     select recording_key from transcription_tasks where recording_key = any($1::text[])`,
    [keys],
  )
  return new Set(rows.map(({ key }) => key))
}
