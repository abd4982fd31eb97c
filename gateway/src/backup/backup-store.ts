import type { Database } from '../platform/postgres.ts'

/** A consistent view of the database that other connections can share while the transaction is open. */
export interface Snapshot {
  id: string
  takenAt: Date
}

/** Takes the snapshot of a transaction. It must be the first query of the transaction. */
export const exportSnapshot = async (database: Database): Promise<Snapshot> => {
  await database.query('set transaction isolation level repeatable read read only')
  // The transaction is idle while the database is dumped.
  await database.query('set local idle_in_transaction_session_timeout to 0')
  const { rows } = await database.query<{ id: string; takenAt: Date }>(
    'select pg_export_snapshot() as id, clock_timestamp() as "takenAt"',
  )
  const [snapshot] = rows
  if (snapshot === undefined) throw new Error('PostgreSQL returned no snapshot.')
  return snapshot
}

/** The major version of the server, and its time. */
export const readServer = async (database: Database): Promise<{ major: number; now: Date }> => {
  const { rows } = await database.query<{ major: number; now: Date }>(
    `select current_setting('server_version_num')::integer / 10000 as major, now() as now`,
  )
  const [server] = rows
  if (server === undefined) throw new Error('PostgreSQL did not return its version.')
  return server
}

export interface RecordCounts {
  accounts: number
  tasks: number
  openTasks: number
  ledgerEntries: number
}

export const countRecords = async (database: Database): Promise<RecordCounts> => {
  const { rows } = await database.query<RecordCounts & Record<string, number>>(
    `select (select count(*) from accounts) as accounts,
            (select count(*) from video_tasks) + (select count(*) from transcription_tasks) as tasks,
            (select count(*) from open_tasks) + (select count(*) from open_transcriptions) as "openTasks",
            (select count(*) from ledger_entries) as "ledgerEntries"`,
  )
  return rows[0] ?? { accounts: 0, tasks: 0, openTasks: 0, ledgerEntries: 0 }
}

/** A media file that the database refers to. Recordings have neither a size nor a hash. */
export interface ReferencedFile {
  storageKey: string
  sizeBytes: number | null
  /** Hexadecimal. */
  sha256: string | null
  isExpired: boolean
}

type FileRow = ReferencedFile & { id: string } & Record<string, unknown>

const filesPerPage = 1_000

const filesAfter = `select id, storage_key as "storageKey", size_bytes as "sizeBytes", encode(sha256, 'hex') as sha256,
  coalesce(expires_at <= now(), false) as "isExpired"
  from media where removed_at is null and id > $1::uuid order by id limit $2`

const recordingsAfter = `select id, recording_key as "storageKey", null::bigint as "sizeBytes", null as sha256, false as "isExpired"
  from transcription_tasks where recording_key is not null and id > $1 order by id limit $2`

/** Every file that the database refers to, in pages. */
export async function* referencedFiles(database: Database): AsyncGenerator<ReferencedFile[]> {
  const sources = [
    { statement: filesAfter, first: '00000000-0000-0000-0000-000000000000' },
    { statement: recordingsAfter, first: '' },
  ]
  for (const { statement, first } of sources) {
    let after: string | undefined = first
    while (after !== undefined) {
      const { rows }: { rows: FileRow[] } = await database.query<FileRow>(statement, [after, filesPerPage])
      if (rows.length > 0) yield rows
      after = rows.length < filesPerPage ? undefined : rows.at(-1)?.id
    }
  }
}

export const countReferencedFiles = async (database: Database): Promise<number> => {
  const { rows } = await database.query<{ count: number }>(
    `select (select count(*) from media where removed_at is null)
          + (select count(*) from transcription_tasks where recording_key is not null) as count`,
  )
  return rows[0]?.count ?? 0
}

/** Which of these files the database still needs, and which it needs no longer because they have expired. */
export const findFiles = async (
  database: Database,
  storageKeys: string[],
): Promise<{ needed: Set<string>; expired: Set<string> }> => {
  const { rows } = await database.query<{ storageKey: string; isNeeded: boolean }>(
    `select storage_key as "storageKey", removed_at is null and (expires_at is null or expires_at > now()) as "isNeeded"
       from media where storage_key = any($1::text[])
     union all
     select recording_key, true from transcription_tasks where recording_key = any($1::text[])`,
    [storageKeys],
  )
  const keysWhere = (isNeeded: boolean) =>
    new Set(rows.flatMap((row) => (row.isNeeded === isNeeded ? row.storageKey : [])))
  return { needed: keysWhere(true), expired: keysWhere(false) }
}

/** Whether the database has no tables or other relations, apart from those of extensions. */
export const isEmptyDatabase = async (database: Database): Promise<boolean> => {
  const { rows } = await database.query<{ isEmpty: boolean }>(
    `select not exists (
       select from pg_class c join pg_namespace n on n.oid = c.relnamespace
        where n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
          and not exists (select from pg_depend d
                           where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e')
     ) as "isEmpty"`,
  )
  return rows[0]?.isEmpty === true
}

/** Collects the statistics of the query planner, which a dump does not contain. */
export const collectStatistics = async (database: Database): Promise<void> => {
  await database.query('analyze')
}

export interface OpenTaskCounts {
  /** Not submitted to a provider, as far as the record knows. */
  queued: number
  /** Being submitted, so the provider may have the job. */
  submitting: number
  /** With a job at a provider. */
  running: number
  /** Transcription tasks. */
  transcriptions: number
  /** Those among all of them whose deadline is over. */
  overdue: number
}

export const countOpenTasks = async (database: Database): Promise<OpenTaskCounts> => {
  const { rows } = await database.query<OpenTaskCounts & Record<string, number>>(
    `select count(*) filter (where upstream is null and outcome_unknown_since is null and stage <> 'submitting') as queued,
            count(*) filter (where upstream is null and (outcome_unknown_since is not null or stage = 'submitting'))
              as submitting,
            count(*) filter (where upstream is not null) as running,
            (select count(*) from open_transcriptions) as transcriptions,
            count(*) filter (where deadline_at <= now())
              + (select count(*) from open_transcriptions where deadline_at <= now()) as overdue
       from open_tasks`,
  )
  return rows[0] ?? { queued: 0, submitting: 0, running: 0, transcriptions: 0, overdue: 0 }
}
