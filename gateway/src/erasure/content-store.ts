/** Finds and deletes what an account has stored, in batches. Each deletion requests the removal of its files. */
import type { Database } from '../platform/postgres.ts'
import { requestRemovals, type FileRemoval } from '../storage/removal/file-removal-store.ts'

export interface Deleted {
  /** By table, with `files` and `bytes`. */
  counts: Record<string, number>
  files: FileRemoval[]
}

interface TaskKey {
  day: string
  id: string
}

type TaskRow = TaskKey & Record<string, unknown>

export const openVideos = async (
  database: Database,
  accountId: string,
  limit: number,
): Promise<TaskKey[]> => {
  const { rows } = await database.query<TaskRow>(
    'select day, task_id as id from open_tasks where account_id = $1 order by task_id limit $2',
    [accountId, limit],
  )
  return rows
}

export const openTranscriptions = async (
  database: Database,
  accountId: string,
  limit: number,
): Promise<TaskKey[]> => {
  const { rows } = await database.query<TaskRow>(
    'select day, task_id as id from open_transcriptions where account_id = $1 order by task_id limit $2',
    [accountId, limit],
  )
  return rows
}

export const endedVideos = async (
  database: Database,
  accountId: string,
  limit: number,
): Promise<TaskKey[]> => {
  const { rows } = await database.query<TaskRow>(
    `select day, id from video_tasks where account_id = $1 and state in ('completed', 'failed')
      order by created_at desc, id desc limit $2`,
    [accountId, limit],
  )
  return rows
}

type RowsOfVideos = Record<'task_events' | 'task_attempts' | 'media' | 'files' | 'bytes', number>

/** The rows that belong to these video tasks, before they are deleted. */
export const countRowsOfVideos = async (
  database: Database,
  tasks: TaskKey[],
): Promise<Record<string, number>> => {
  const { rows } = await database.query<RowsOfVideos>(
    `with given as (select * from unnest($1::date[], $2::text[]) as task (day, id))
     select (select count(*) from task_events e join given on e.day = given.day and e.task_id = given.id) as task_events,
            (select count(*) from task_attempts a join given on a.day = given.day and a.task_id = given.id) as task_attempts,
            m.* from (select count(*) as media, count(*) filter (where removed_at is null) as files,
                             coalesce(sum(size_bytes) filter (where removed_at is null), 0)::bigint as bytes
                        from media where task_id = any($2) and kind in ('video', 'reference', 'thumbnail', 'spritesheet')) m`,
    [tasks.map(({ day }) => day), tasks.map(({ id }) => id)],
  )
  return rows[0] ?? {}
}

/** The requests of a query `requested`, as a column. */
const removalsColumn = `(select coalesce(jsonb_agg(to_jsonb(requested)), '[]') from requested) as removals`

/** The end of a statement that deletes rows of `media` in a query `gone`, which has their columns. */
const withFiles = `, requested as (${requestRemovals('gone where removed_at is null')})
  select (select count(*) from gone) as media, (select count(*) from requested) as files,
         (select coalesce(sum(size_bytes), 0)::bigint from gone where removed_at is null) as bytes, ${removalsColumn}`

type DeletedRow = { removals?: FileRemoval[] } & Record<string, unknown>

const presentDeleted = (row: DeletedRow | undefined): Deleted => {
  if (row === undefined) return { counts: {}, files: [] }
  const { removals = [], ...counts } = row
  return { counts: counts as Record<string, number>, files: removals }
}

/** A deletion of at most `limit` rows. */
type DeleteSome = (database: Database, accountId: string, limit: number) => Promise<Deleted>

const deletion =
  (text: string): DeleteSome =>
  async (database, accountId, limit) => {
    const { rows } = await database.query<DeletedRow>(text, [accountId, limit])
    return presentDeleted(rows[0])
  }

const deleteTranscriptions = deletion(
  `with due as materialized (
     select day, id, account_id, recording_key as storage_key from transcription_tasks
      where account_id = $1 and state in ('completed', 'failed') order by created_at desc, id desc limit $2 for update
   ), segments as (
     delete from transcription_segments s using due where s.task_id = due.id returning s.task_id
   ), events as (
     delete from task_events e using due where e.day = due.day and e.task_id = due.id returning e.task_id
   ), deleted as (
     delete from transcription_tasks t using due where t.day = due.day and t.id = due.id returning t.id
   ), requested as (${requestRemovals('due where storage_key is not null')})
   select (select count(*) from deleted) as transcription_tasks,
          (select count(*) from segments) as transcription_segments, (select count(*) from events) as task_events, (select count(*) from requested) as files, ${removalsColumn}`,
)

const deleteCharacters = deletion(
  `with deleted as (
     delete from characters where id in (select id from characters where account_id = $1 order by id limit $2)
     returning id, clip_media_id, portrait_media_id
   ), gone as (
     delete from media m using deleted where m.id in (deleted.clip_media_id, deleted.portrait_media_id)
     returning m.storage_key, m.account_id, m.size_bytes, m.removed_at
   )${withFiles}, (select count(*) from deleted) as characters`,
)

/** What is left after the tasks and characters are deleted, such as a result that was stored while its task ended. */
const deleteMedia = deletion(
  `with gone as (
     delete from media where id in (select id from media where account_id = $1 limit $2)
     returning storage_key, account_id, size_bytes, removed_at
   )${withFiles}`,
)

const deleteResponses = deletion(
  `with gone as (
     delete from idempotency_keys k using (select name from idempotency_keys where account_id = $1 limit $2) due
      where k.account_id = $1 and k.name = due.name returning 1
   ) select count(*) as idempotency_keys from gone`,
)

const deleteListPositions = deletion(
  `with gone as (
     delete from deleted_characters where id in (select id from deleted_characters where account_id = $1 limit $2) returning 1
   ) select count(*) as deleted_characters from gone`,
)

/** Deletes the requests of a whole day: the table has no key, and its index leads to the account and the time. */
const deleteRequests = async (database: Database, accountId: string): Promise<Deleted> => {
  const { rows } = await database.query<{ day: string }>(
    'select day from request_log where account_id = $1 order by at desc limit 1',
    [accountId],
  )
  const [newest] = rows
  if (newest === undefined) return { counts: {}, files: [] }
  const { rowCount } = await database.query('delete from request_log where account_id = $1 and day = $2', [
    accountId,
    newest.day,
  ])
  return { counts: { request_log: rowCount ?? 0 }, files: [] }
}

const deleteWebhookDeliveries = deletion(
  `with due as materialized (
     select day, id from webhook_deliveries where account_id = $1 order by occurred_at desc, id desc limit $2
   ), attempts as (
     delete from webhook_attempts a using due where a.day = due.day and a.delivery_id = due.id returning 1
   ), gone as (
     delete from webhook_deliveries d using due where d.day = due.day and d.id = due.id returning 1
   ) select (select count(*) from gone) as webhook_deliveries, (select count(*) from attempts) as webhook_attempts`,
)

const deleteWebhookEndpoints = deletion(
  `with gone as (
     delete from webhook_endpoints where id in (select id from webhook_endpoints where account_id = $1 limit $2) returning 1
   ), secrets as (
     delete from webhook_secrets where account_id = $1 returning 1
   ) select (select count(*) from gone) as webhook_endpoints, (select count(*) from secrets) as webhook_secrets`,
)

const deleteEvents = deletion(
  `with due as materialized (select day, id from account_events where account_id = $1 limit $2), gone as (
     delete from account_events e using due where e.day = due.day and e.id = due.id returning 1
   ) select count(*) as account_events from gone`,
)

const emptyMovements = deletion(
  `with due as (
     select id from account_movements where account_id = $1 and (reason <> '' or reference is not null) limit $2
   ), emptied as (
     update account_movements m set reason = '', reference = null from due where m.id = due.id returning 1
   ) select count(*) as account_movements from emptied`,
)

const deleteMetadata = deletion(
  `with due as materialized (select day, id from usage_metadata where account_id = $1 order by day limit $2), gone as (
     delete from usage_metadata n using due where n.day = due.day and n.id = due.id returning 1
   ) select count(*) as usage_metadata from gone`,
)

/** Empties the requests of a whole day, because no index leads to those with metadata. */
const emptyRequests = async (database: Database, accountId: string): Promise<Deleted> => {
  const { rowCount } = await database.query(
    `update metered_requests set metadata = null
      where account_id = $1 and metadata is not null
        and day = (select day from metered_requests where account_id = $1 and metadata is not null order by created_at limit 1)`,
    [accountId],
  )
  return { counts: { metered_requests: rowCount ?? 0 }, files: [] }
}

const deleteBudget = async (database: Database, accountId: string): Promise<Deleted> => {
  const { rowCount } = await database.query('delete from account_budgets where account_id = $1', [accountId])
  return { counts: { account_budgets: rowCount ?? 0 }, files: [] }
}

const deleteSessions = async (database: Database, accountId: string): Promise<Deleted> => {
  const ofAccount = 'key_id in (select id from keys where account_id = $1)'
  const sessions = await database.query(`delete from console_sessions where ${ofAccount}`, [accountId])
  const links = await database.query(`delete from console_links where ${ofAccount}`, [accountId])
  return {
    counts: { console_sessions: sessions.rowCount ?? 0, console_links: links.rowCount ?? 0 },
    files: [],
  }
}

/** In this order: what refers to other rows comes first. */
export const deletions: DeleteSome[] = [
  ...[deleteTranscriptions, deleteCharacters, deleteMedia, deleteResponses, deleteListPositions],
  ...[deleteWebhookEndpoints, deleteWebhookDeliveries, deleteBudget, deleteEvents],
  deleteSessions,
  ...[deleteRequests, emptyMovements, deleteMetadata, emptyRequests],
]

/** The rows and files that are left, by table; without the tables that have none. */
export const countRemaining = async (
  database: Database,
  accountId: string,
): Promise<Record<string, number>> => {
  const { rows } = await database.query<{ name: string; count: number }>(
    `select name, count from (
       select 'video_tasks' as name, count(*) from video_tasks where account_id = $1
       union all select 'open_tasks', count(*) from open_tasks where account_id = $1
       union all select 'transcription_tasks', count(*) from transcription_tasks where account_id = $1
       union all select 'open_transcriptions', count(*) from open_transcriptions where account_id = $1
       union all select 'media', count(*) from media where account_id = $1
       union all select 'characters', count(*) from characters where account_id = $1
       union all select 'deleted_characters', count(*) from deleted_characters where account_id = $1
       union all select 'idempotency_keys', count(*) from idempotency_keys where account_id = $1
       union all select 'request_log', count(*) from request_log where account_id = $1
       union all select 'usage_metadata', count(*) from usage_metadata where account_id = $1
       union all select 'metered_requests', count(*) from metered_requests where account_id = $1 and metadata is not null
       union all select 'account_budgets', count(*) from account_budgets where account_id = $1
       union all select 'console_sessions', count(*) from console_sessions s join keys k on k.id = s.key_id where k.account_id = $1
       union all select 'console_links', count(*) from console_links l join keys k on k.id = l.key_id where k.account_id = $1
       union all select 'account_events', count(*) from account_events where account_id = $1
       union all select 'webhook_endpoints', count(*) from webhook_endpoints where account_id = $1
       union all select 'webhook_secrets', count(*) from webhook_secrets where account_id = $1
       union all select 'webhook_deliveries', count(*) from webhook_deliveries where account_id = $1
       union all select 'keys', count(*) from keys where account_id = $1 and (deleted_at is null or hint <> '')
       union all select 'account_movements', count(*) from account_movements
                   where account_id = $1 and (reason <> '' or reference is not null)
       union all select 'file_removals', count(*) from file_removals where account_id = $1
     ) counted where count > 0 order by name`,
    [accountId],
  )
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]))
}

/** Jobs at providers whose deletion was requested and has not succeeded. */
export const countJobRemovals = async (database: Database, accountId: string): Promise<number> => {
  const { rows } = await database.query<{ count: number }>(
    'select count(*) from job_removals where account_id = $1',
    [accountId],
  )
  return rows[0]?.count ?? 0
}

/** The rows that stay, by table. */
export const countKept = async (database: Database, accountId: string): Promise<Record<string, number>> => {
  const { rows } = await database.query<{ name: string; count: number }>(
    `select 'ledger_entries' as name, count(*) from ledger_entries where account_id = $1
     union all select 'usage_entries', count(*) from usage_entries where account_id = $1
     union all select 'account_movements', count(*) from account_movements where account_id = $1
     union all select 'metered_requests', count(*) from metered_requests where account_id = $1
     union all select 'keys', count(*) from keys where account_id = $1
     union all select 'audit_log', count(*) from audit_log where target = $1::text`,
    [accountId],
  )
  return Object.fromEntries(rows.map(({ name, count }) => [name, count]))
}

export interface LeftBalance {
  wallet: string
  available_micros: number
  held_micros: number
  currency: string | null
}

/** The wallets of the account, whose money stays. */
export const readBalances = async (database: Database, accountId: string): Promise<LeftBalance[]> => {
  const { rows } = await database.query<LeftBalance & Record<string, unknown>>(
    `select wallet, available_micros, held_micros, (select currency from instance_settings) as currency
       from balances where account_id = $1 order by wallet`,
    [accountId],
  )
  return rows
}

/** All providers that made videos for the account. */
export const providersOfVideos = async (database: Database, accountId: string): Promise<string[]> => {
  const { rows } = await database.query<{ provider: string }>(
    'select distinct provider from video_tasks where account_id = $1',
    [accountId],
  )
  return rows.map(({ provider }) => provider)
}
