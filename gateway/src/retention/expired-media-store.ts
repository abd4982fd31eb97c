import type { Database } from '../platform/postgres.ts'
import { mediaDays } from './expiry-store.ts'
import type { RetentionDays } from './retention-days.ts'

/** Something whose time is over, and where its files lie. */
export interface Expired {
  id: string
  storageKeys: string[]
}

/** What is due, batch by batch; what was passed over a moment ago is left for another time. */
interface Batch {
  limit: number
  except: string[]
}

/** One kind of what is past: how it is found, locked, and what is noted when its files are gone. */
export interface ExpiredKind<Each extends Expired> {
  find: (database: Database, batch: Batch) => Promise<Each[]>
  /** Locks those of these that are still due and that nobody else has taken. Goes inside a transaction. */
  take: (database: Database, ids: string[]) => Promise<Each[]>
  note: (database: Database, ids: string[]) => Promise<void>
}

/** `source` is what follows `from`, with the table `m` or `c` that has the rows to lock, and the conditions. */
const expiredKind = <Each extends Expired>(
  { columns, source, locked, order }: { columns: string; source: string; locked: string; order: string },
  note: ExpiredKind<Each>['note'],
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
    take: async (database, ids) => {
      const { rows } = await database.query<Each & Record<string, unknown>>(
        `${all} and ${locked}.id = any($1::uuid[]) for update of ${locked} skip locked`,
        [ids],
      )
      return rows
    },
    note,
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

// A remix that has not ended may yet need its source.
const isExpired = `m.removed_at is null and m.expires_at <= now()
  and not exists (select from open_tasks o where o.source_task_id = m.task_id)`

/** Results past their time; their rows stay, to say so. */
export const expiredFiles = expiredKind<ExpiredFile>(
  {
    columns: `m.id, array[m.storage_key] as "storageKeys", m.task_id as "taskId", m.kind`,
    source: `media m where ${isExpired}`,
    locked: 'm',
    order: 'm.expires_at',
  },
  markRemoved,
)

// A task's pictures and characters are noted together with its place among the open ones, and go when it ends;
// what is here for longer was left by a process that died in between.
const isLeft = (made: string, taskId: string) =>
  `${made} < now() - interval '1 hour' and not exists (select from open_tasks o where o.task_id = ${taskId})`
const isLeftImage = `m.kind = 'reference' and ${isLeft('m.created_at', 'm.task_id')}`
const isLeftCharacter = `c.task_id is not null and ${isLeft('c.created_at', 'c.task_id')}`

/**
 * Which of these expired files no remix is made from. A remix that is being created at this moment began before its
 * source expired and has it locked; once it is not, there can be no other.
 */
export const findUnused = async (database: Database, files: ExpiredFile[]): Promise<ExpiredFile[]> => {
  const free = await database.query<{ id: string }>(
    'select id from media where id = any($1::uuid[]) for update skip locked',
    [files.map(({ id }) => id)],
  )
  // A statement of its own: it sees what was committed before the locks were free.
  const unused = await database.query<{ id: string }>(
    `select m.id from media m where m.id = any($1::uuid[]) and ${isExpired}`,
    [free.rows.map(({ id }) => id)],
  )
  const ids = new Set(unused.rows.map(({ id }) => id))
  return files.filter(({ id }) => ids.has(id))
}

/** Pictures whose task has ended without removing them. */
export const leftImages = expiredKind<Expired>(
  {
    columns: 'm.id, array[m.storage_key] as "storageKeys"',
    source: `media m where ${isLeftImage}`,
    locked: 'm',
    order: 'm.created_at',
  },
  forgetFiles,
)

/** Characters that were made for a task alone, likewise. */
export const leftCharacters = expiredKind<Expired>(
  {
    columns: 'c.id, array[clip.storage_key, portrait.storage_key] as "storageKeys"',
    source: `characters c join media clip on clip.id = c.clip_media_id
      join media portrait on portrait.id = c.portrait_media_id where ${isLeftCharacter}`,
    locked: 'c',
    order: 'c.created_at',
  },
  forgetCharacters,
)

/** Forgets files that were removed and that no task leads to any more; answers how many. */
export const forgetRemoved = async (database: Database, taskDays: number, limit: number): Promise<number> => {
  const { rowCount } = await database.query(
    `delete from media where id in (
       select id from media
        where removed_at is not null and created_at < now() - make_interval(days => $1::integer)
        limit $2 for update skip locked)`,
    [taskDays, limit],
  )
  return rowCount ?? 0
}

export interface DueMedia {
  expired: number
  expiredBytes: number
  left: number
}

/** What is due by the terms as they are now. */
export const countDueMedia = async (
  database: Database,
  { media, task }: RetentionDays,
): Promise<DueMedia> => {
  const { rows } = await database.query<DueMedia & Record<string, number>>(
    `select count(*) as expired, coalesce(sum(m.size_bytes), 0) as "expiredBytes",
            (select count(*) from media m where ${isLeftImage})
            + 2 * (select count(*) from characters c where ${isLeftCharacter}) as left
       from media m left join media v on v.task_id = m.task_id and v.kind = 'video'
       left join accounts a on a.id = m.account_id
      where m.removed_at is null and m.expires_at is not null
        and (m.expires_at <= now() or v.created_at + make_interval(days => ${mediaDays}) <= now())`,
    [media, task],
  )
  return rows[0] ?? { expired: 0, expiredBytes: 0, left: 0 }
}

/** Which of these keys belong to something on record. */
export const knownKeys = async (
  database: Database,
  keys: string[],
  recordings: { day: string; id: string }[],
): Promise<Set<string>> => {
  const { rows } = await database.query<{ key: string }>(
    `select storage_key as key from media where storage_key = any($1::text[]) and removed_at is null
     union all
     select t.recording_key from unnest($2::date[], $3::text[]) as wanted (day, id)
       join transcription_tasks t on t.day = wanted.day and t.id = wanted.id
      where t.recording_key is not null`,
    [keys, recordings.map(({ day }) => day), recordings.map(({ id }) => id)],
  )
  return new Set(rows.map(({ key }) => key))
}
