/**
 * Restores a backup into an empty database and a media store. Everything is checked before anything is written, and the
 * database is restored last and in one transaction, so a restore that failed can simply be repeated.
 */
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'

import { unknownMigrations } from '../platform/migrate.ts'
import type { Postgres } from '../platform/postgres.ts'
import type { MediaStore } from '../storage/port/media-store.ts'
import { collectStatistics, isEmptyDatabase, readServer } from './backup-store.ts'
import { measureFolder, storeFolder } from './copy-media.ts'
import { hashStream } from './hash-stream.ts'
import { listBackups } from './list-backups.ts'
import { dumpName, mediaName, readManifest, type Manifest } from './manifest.ts'
import { findProgram, runProgram } from './postgres-programs.ts'

export interface RestoreDependencies {
  postgres: Postgres
  databaseUrl: string
  mediaStore: MediaStore
  /** Of the programs of PostgreSQL. */
  environment: Partial<Record<string, string>>
  signal: AbortSignal
  onProgress: (text: string) => void
  /** Runs when the backup is verified. If it fails, nothing is written. */
  beforeWriting?: () => Promise<void>
}

const openManifest = async (path: string): Promise<Manifest> => {
  const manifest = await readManifest(path)
  if (manifest !== undefined) return manifest
  const inside = (await listBackups(path)).flatMap((each) => (each.isComplete ? each.path : []))
  throw new Error(
    inside.length === 0
      ? `${path} is not a complete backup: it has no manifest. The backup did not end, or was not copied completely. Use another one.`
      : `${path} contains ${inside.length} complete backup${inside.length === 1 ? '' : 's'}. Name one of them; the newest is ${inside[0]}.`,
  )
}

const assertIntact = async (
  path: string,
  { database, media }: Manifest,
  onProgress: (text: string) => void,
): Promise<void> => {
  const file = join(path, dumpName)
  const size = await stat(file).then(
    (found) => found.size,
    () => undefined,
  )
  const advice = 'Copy the backup again, or use another one.'
  if (size === undefined) throw new Error(`${file} does not exist. ${advice}`)
  if (size !== database.size_bytes) {
    throw new Error(`${file} has ${size} bytes instead of ${database.size_bytes}. ${advice}`)
  }
  onProgress('Verifying the dump')
  if ((await hashStream(createReadStream(file))) !== database.sha256) {
    throw new Error(`${file} is damaged: its SHA-256 differs from the manifest. ${advice}`)
  }
  onProgress('Counting the media files of the backup')
  const found = await measureFolder(join(path, mediaName))
  if (found.files !== media.files || found.sizeBytes !== media.size_bytes) {
    throw new Error(
      `${join(path, mediaName)} has ${found.files} files with ${found.sizeBytes} bytes instead of ${media.files} with ${media.size_bytes}. ${advice}`,
    )
  }
}

const assertNotNewer = async ({ migrations, kinora_version }: Manifest): Promise<void> => {
  const unknown = await unknownMigrations(migrations)
  if (unknown.length === 0) return
  throw new Error(
    `The backup is newer than this program: it was made by Kinora ${kinora_version} and has the migration${unknown.length === 1 ? '' : 's'} ${unknown.join(', ')}. Restore it with that version or a later one.`,
  )
}

const assertEmpty = async (postgres: Postgres, databaseUrl: string): Promise<void> => {
  if (await isEmptyDatabase(postgres)) return
  const name = URL.parse(databaseUrl)?.pathname.slice(1) ?? ''
  throw new Error(
    `The database ${name} is not empty. A restore never changes existing data. Create an empty database, such as with \`createdb ${name}_restored\`, and set DATABASE_URL to it.`,
  )
}

/** Returns the manifest of the restored backup. The database may still lack migrations. */
export const restoreBackup = async (
  { postgres, databaseUrl, mediaStore, environment, signal, onProgress, beforeWriting }: RestoreDependencies,
  path: string,
): Promise<Manifest> => {
  const manifest = await openManifest(path)
  await assertNotNewer(manifest)
  const { major: server } = await readServer(postgres)
  if (server < manifest.database.server_major) {
    throw new Error(
      `The backup is of PostgreSQL ${manifest.database.server_major}, and this server is version ${server}. Restore it on version ${manifest.database.server_major} or later.`,
    )
  }
  const program = await findProgram('pg_restore', server, manifest.database.pg_dump_major)
  await assertEmpty(postgres, databaseUrl)
  await assertIntact(path, manifest, onProgress)
  await beforeWriting?.()

  const { files } = manifest.media
  await storeFolder(join(path, mediaName), mediaStore, {
    signal,
    onProgress: (copied) => onProgress(`Copying media: ${copied} of ${files} files`),
  })
  onProgress('Restoring the database')
  const parameters = [
    ...['--single-transaction', '--no-owner', '--no-privileges', '--no-comments', '--no-publications'],
    ...['--no-subscriptions', '--verbose', join(path, dumpName)],
  ]
  await runProgram(program, databaseUrl, parameters, {
    environment,
    signal,
    onLine: (line) => {
      const table = /processing data for table "[^".]*\.([^"]+)"/.exec(line)?.[1]
      if (table !== undefined) onProgress(`Restoring the database: ${table}`)
    },
  })
  onProgress('Collecting statistics')
  await collectStatistics(postgres)
  return manifest
}
