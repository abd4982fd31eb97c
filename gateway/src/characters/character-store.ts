import type { Database } from '../platform/postgres.ts'
import { requestRemovals, type FileRemoval } from '../storage/removal/file-removal-store.ts'
import { insertStoredFiles, type StoredFile } from '../storage/stored-file-store.ts'
import type { BuiltCharacter, StoredCharacter } from './character.ts'

type Row = StoredCharacter & Record<string, unknown>

const columns = `id, account_id as "accountId", username, source, clip_media_id as "clipMediaId",
  portrait_media_id as "portraitMediaId", is_private as "isPrivate"`

/**
 * Inserts a character and its files, for the library or for one task alone. Returns false and inserts nothing if its
 * name is in use or the library has a character from the same source. Must run inside a transaction.
 */
export const insertCharacter = async (
  database: Database,
  character: BuiltCharacter,
  taskId: string | null,
): Promise<boolean> => {
  await insertStoredFiles(database, character.files)
  // Inserts into one library are serialized, so that the order of creation times is the order of commits.
  if (taskId === null) {
    await database.query(`select pg_advisory_xact_lock(hashtextextended('kinora:characters:' || $1, 0))`, [
      character.accountId,
    ])
  }
  const { rowCount } = await database.query(
    `insert into characters (id, account_id, username, source, clip_media_id, portrait_media_id, is_private, task_id,
                             created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp()) on conflict do nothing`,
    [
      character.id,
      character.accountId,
      character.username,
      character.source,
      character.clipMediaId,
      character.portraitMediaId,
      character.isPrivate,
      taskId,
    ],
  )
  if (rowCount === 1) return true
  await database.query('delete from media where id = any($1)', [character.files.map(({ id }) => id)])
  return false
}

/** The number of characters in the library. It is exact after an insert in the same transaction, which locks the library. */
export const countLibrary = async (database: Database, accountId: string): Promise<number> => {
  const { rows } = await database.query<{ count: number }>(
    'select count(*) from characters where account_id = $1 and task_id is null',
    [accountId],
  )
  return rows[0]?.count ?? 0
}

export const findCharacter = async (
  database: Database,
  accountId: string,
  id: string,
): Promise<StoredCharacter | undefined> => {
  const { rows } = await database.query<Row>(
    `select ${columns} from characters where id = $2 and account_id = $1 and task_id is null`,
    [accountId, id],
  )
  return rows[0]
}

export const findCharacterFrom = async (
  database: Database,
  accountId: string,
  source: string,
): Promise<StoredCharacter | undefined> => {
  const { rows } = await database.query<Row>(
    `select ${columns} from characters where account_id = $1 and source = $2 and task_id is null`,
    [accountId, source],
  )
  return rows[0]
}

/** Finds a character of any account: names are unique across all accounts. */
export const findCharacterNamed = async (
  database: Database,
  username: string,
): Promise<StoredCharacter | undefined> => {
  const { rows } = await database.query<Row>(
    `select ${columns} from characters where username = $1 and task_id is null`,
    [username],
  )
  return rows[0]
}

/** The account's characters with these names. Unknown names are left out. */
export const findCharactersNamed = async (
  database: Database,
  accountId: string,
  usernames: string[],
): Promise<{ id: string; username: string }[]> => {
  const { rows } = await database.query<{ id: string; username: string }>(
    `select id, username from characters where username = any($2) and account_id = $1 and task_id is null`,
    [accountId, usernames],
  )
  return rows
}

export const isUsernameInUse = async (database: Database, username: string): Promise<boolean> => {
  const { rowCount } = await database.query(`select 1 from characters where username = $1`, [username])
  return rowCount !== 0
}

/** The creation time of a library character in full precision, as list position, even if the character was deleted. */
const findCreationTime = async (
  database: Database,
  accountId: string,
  id: string,
): Promise<string | undefined> => {
  const { rows } = await database.query<{ at: string }>(
    `select created_at::text as at from characters where id = $2 and account_id = $1 and task_id is null
     union all
     select created_at::text from deleted_characters where id = $2 and account_id = $1`,
    [accountId, id],
  )
  return rows[0]?.at
}

/** A page of the library, plus one if there are more. Undefined if `after` was never in the library. */
export const listStoredCharacters = async (
  database: Database,
  accountId: string,
  { after, order, limit }: { after: string | undefined; order: 'asc' | 'desc'; limit: number },
): Promise<StoredCharacter[] | undefined> => {
  const at = after === undefined ? undefined : await findCreationTime(database, accountId, after)
  if (after !== undefined && at === undefined) return undefined
  const isAfter = after === undefined ? '' : `and (created_at, id) ${order === 'asc' ? '>' : '<'} ($3, $4)`
  const { rows } = await database.query<Row>(
    `select ${columns} from characters where account_id = $1 and task_id is null ${isAfter}
      order by created_at ${order}, id ${order} limit $2`,
    [accountId, limit + 1, ...(after === undefined ? [] : [at, after])],
  )
  return rows
}

const isDuplicate = (error: unknown) => (error as { code?: unknown }).code === '23505'

/** Renames a character. `in_use` if another character has the name, undefined if there is no such character. */
export const renameStoredCharacter = async (
  database: Database,
  accountId: string,
  id: string,
  username: string,
): Promise<StoredCharacter | 'in_use' | undefined> => {
  try {
    // The database would log a violation of the constraint, so it is only left to two requests at the same moment.
    const { rows } = await database.query<Row>(
      `update characters set username = $3
        where id = $2 and account_id = $1 and task_id is null
          and not exists (select from characters other where other.username = $3 and other.id <> $2)
        returning ${columns}`,
      [accountId, id, username],
    )
    if (rows[0] !== undefined) return rows[0]
    return (await findCharacter(database, accountId, id)) === undefined ? undefined : 'in_use'
  } catch (error) {
    if (isDuplicate(error)) return 'in_use'
    throw error
  }
}

const withFiles = `with deleted as (%) , files as (
    delete from media m using deleted where m.id in (deleted.clip_media_id, deleted.portrait_media_id)
    returning m.storage_key, m.account_id
  ) ${requestRemovals('files')}`

/** Deletes a character and requests the removal of its files; undefined if there is no such character. */
export const deleteStoredCharacter = async (
  database: Database,
  accountId: string,
  id: string,
): Promise<FileRemoval[] | undefined> => {
  const { rows } = await database.query<FileRemoval & Record<string, unknown>>(
    withFiles.replace(
      '%',
      `delete from characters where id = $2 and account_id = $1 and task_id is null
       returning id, account_id, created_at, clip_media_id, portrait_media_id), recorded as (
         insert into deleted_characters (id, account_id, created_at) select id, account_id, created_at from deleted`,
    ),
    [accountId, id],
  )
  return rows.length === 0 ? undefined : rows
}

/** Deletes the characters that were made for one task alone, and requests the removal of their files. */
export const deleteCharactersOfTask = async (database: Database, taskId: string): Promise<FileRemoval[]> => {
  const { rows } = await database.query<FileRemoval & Record<string, unknown>>(
    withFiles.replace(
      '%',
      `delete from characters where task_id = $1 returning id, clip_media_id, portrait_media_id`,
    ),
    [taskId],
  )
  return rows
}

/** The portraits by character id. Deleted characters are left out. */
export const portraitsOf = async (
  database: Database,
  characterIds: string[],
): Promise<Map<string, StoredFile>> => {
  const { rows } = await database.query<StoredFile & { characterId: string } & Record<string, unknown>>(
    `select c.id as "characterId", m.id, m.account_id as "accountId", m.task_id as "taskId", m.kind,
            m.storage_key as "storageKey", m.content_type as "contentType", m.size_bytes as "sizeBytes",
            encode(m.sha256, 'hex') as sha256, m.width, m.height, m.duration_ms as "durationMs",
            m.expires_at as "expiresAt"
       from characters c join media m on m.id = c.portrait_media_id
      where c.id = any($1)`,
    [characterIds],
  )
  return new Map(rows.map(({ characterId, ...file }) => [characterId, file]))
}
