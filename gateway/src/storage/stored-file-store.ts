import type { Database } from '../platform/postgres.ts'
import { requestRemovals, type FileRemoval } from './removal/file-removal-store.ts'

export interface StoredFile {
  id: string
  accountId: string
  taskId: string
  kind: 'video' | 'reference' | 'thumbnail' | 'spritesheet' | 'clip' | 'portrait'
  storageKey: string
  contentType: string
  sizeBytes: number
  /** Hexadecimal. */
  sha256: string
  width: number | null
  height: number | null
  durationMs: number | null
  expiresAt: Date | null
}

/** Inserts files. Existing rows are not changed, so a step can be repeated. */
export const insertStoredFiles = async (database: Database, files: StoredFile[]): Promise<void> => {
  if (files.length === 0) return
  await database.query(
    `insert into media (id, account_id, task_id, kind, storage_key, content_type, size_bytes, sha256,
                        width, height, duration_ms, expires_at)
     select id, "accountId", "taskId", kind, "storageKey", "contentType", "sizeBytes", decode(sha256, 'hex'),
            width, height, "durationMs", "expiresAt"
       from jsonb_to_recordset($1::jsonb) as file
         (id uuid, "accountId" uuid, "taskId" text, kind text, "storageKey" text, "contentType" text,
          "sizeBytes" bigint, sha256 text, width integer, height integer, "durationMs" integer, "expiresAt" timestamptz)
     on conflict do nothing`,
    [JSON.stringify(files)],
  )
}

/**
 * Inserts a variant if the row of its video still exists, so that a deleted video never gets one, and if it is the first of its
 * kind. The lock makes a concurrent deletion wait, and then see it. A variant expires with its video.
 */
export const insertVariant = async (
  database: Database,
  videoId: string,
  {
    id,
    kind,
    storageKey,
    contentType,
    sizeBytes,
    sha256,
  }: Pick<StoredFile, 'id' | 'kind' | 'storageKey' | 'contentType' | 'sizeBytes' | 'sha256'>,
): Promise<void> => {
  await database.query(
    `with video as (
       select account_id, task_id, expires_at from media where id = $1 and removed_at is null for key share
     )
     insert into media (id, account_id, task_id, kind, storage_key, content_type, size_bytes, sha256, expires_at)
     select $2, account_id, task_id, $3, $4, $5, $6, decode($7, 'hex'), expires_at from video
     on conflict do nothing`,
    [videoId, id, kind, storageKey, contentType, sizeBytes, sha256],
  )
}

const columns = `id, account_id as "accountId", task_id as "taskId", kind, storage_key as "storageKey",
  content_type as "contentType", size_bytes as "sizeBytes", encode(sha256, 'hex') as sha256, width, height,
  duration_ms as "durationMs", expires_at as "expiresAt"`

export const findStoredFile = async (database: Database, id: string): Promise<StoredFile | undefined> => {
  const { rows } = await database.query<StoredFile & Record<string, unknown>>(
    `select ${columns} from media where id = $1`,
    [id],
  )
  return rows[0]
}

/**
 * Locks source files against deletion until the transaction ends. Deleted files are left out; files that have expired or
 * were removed are not available.
 */
export const lockSources = async (
  database: Database,
  ids: string[],
): Promise<Map<string, { isAvailable: boolean }>> => {
  if (ids.length === 0) return new Map()
  const { rows } = await database.query<{ id: string; isAvailable: boolean }>(
    `select id, removed_at is null and expires_at > clock_timestamp() as "isAvailable"
       from media where id = any($1::uuid[]) order by id for share`,
    [ids],
  )
  return new Map(rows.map(({ id, isAvailable }) => [id, { isAvailable }]))
}

/** Waits for remixes that are being created from these files, and blocks new ones until the transaction ends. */
export const lockFilesOfTasks = async (database: Database, taskIds: string[]): Promise<void> => {
  await database.query('select from media where task_id = any($1::text[]) order by id for update', [taskIds])
}

export const referencesOfTask = async (database: Database, taskId: string): Promise<StoredFile[]> => {
  const { rows } = await database.query<StoredFile & Record<string, unknown>>(
    `select ${columns} from media where task_id = $1 and kind = 'reference' order by id`,
    [taskId],
  )
  return rows
}

export const findVariant = async (
  database: Database,
  taskId: string,
  kind: 'thumbnail' | 'spritesheet',
): Promise<StoredFile | undefined> => {
  const { rows } = await database.query<StoredFile & Record<string, unknown>>(
    `select ${columns} from media where task_id = $1 and kind = $2`,
    [taskId, kind],
  )
  return rows[0]
}

/** Deletes the rows of a task's reference images, and requests the removal of the files. */
export const deleteReferences = async (database: Database, taskId: string): Promise<FileRemoval[]> => {
  const { rows } = await database.query<FileRemoval & Record<string, unknown>>(
    `with gone as (
       delete from media where task_id = $1 and kind = 'reference' returning storage_key, account_id
     ) ${requestRemovals('gone')}`,
    [taskId],
  )
  return rows
}
