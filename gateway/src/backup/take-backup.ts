/**
 * Makes a backup while the service runs. Media files are copied twice: first those that the database refers to now, which
 * may take long, and then those that the snapshot refers to, of which hardly any are left to copy. So a file that is deleted
 * during the backup is in it nevertheless, unless it was created and deleted within these moments.
 */
import { createReadStream } from 'node:fs'
import { mkdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { appliedMigrations, unknownMigrations } from '../platform/migrate.ts'
import type { Database, Postgres } from '../platform/postgres.ts'
import type { MediaStore } from '../storage/port/media-store.ts'
import {
  countRecords,
  countReferencedFiles,
  exportSnapshot,
  findFiles,
  readServer,
  referencedFiles,
  type RecordCounts,
} from './backup-store.ts'
import { copyReferenced, type MediaCopy } from './copy-media.ts'
import { hashStream } from './hash-stream.ts'
import { backupNameAt, listBackups } from './list-backups.ts'
import {
  dumpName,
  fingerprintsOf,
  layoutVersion,
  mediaName,
  writeManifest,
  type BackupSecrets,
  type Manifest,
  type MissingFile,
} from './manifest.ts'
import { findProgram, runProgram, type PostgresProgram } from './postgres-programs.ts'

export interface BackupDependencies {
  postgres: Postgres
  databaseUrl: string
  mediaStore: MediaStore
  secrets: BackupSecrets
  /** Of the programs of PostgreSQL. */
  environment: Partial<Record<string, string>>
  signal: AbortSignal
  onProgress: (text: string) => void
}

export interface Backup {
  path: string
  manifest: Manifest
  /** How many media files no other backup had. */
  copied: number
  copiedBytes: number
  /** Directories of backups that did not end, or have not ended yet. */
  incomplete: string[]
}

/** The media that is copied before the snapshot. A backup that did not end may leave it. */
const earlyName = 'early'
const keysPerQuery = 500
const progressEveryMs = 1_000

const dump = async (
  { databaseUrl, environment, onProgress }: BackupDependencies,
  program: PostgresProgram,
  snapshotId: string,
  file: string,
  signal: AbortSignal,
): Promise<void> => {
  // pg_dump keeps the mode of an existing file.
  await writeFile(file, '', { mode: 0o600 })
  const timer = setInterval(() => {
    stat(file).then(
      ({ size }) => onProgress(`Dumping the database: ${Math.round(size / 1_048_576)} MiB`),
      () => undefined,
    )
  }, progressEveryMs)
  try {
    // Extensions are not ours: a restore by a role that may not create them would fail.
    const parameters = [
      '--format=custom',
      `--snapshot=${snapshotId}`,
      `--file=${file}`,
      '--extension=plpgsql',
    ]
    await runProgram(program, databaseUrl, parameters, { environment, signal })
  } finally {
    clearInterval(timer)
  }
}

/** Explains the missing files by the present state of the database. */
const explainMissing = async (database: Database, keys: string[]): Promise<MissingFile[]> => {
  const missing: MissingFile[] = []
  for (let start = 0; start < keys.length; start += keysPerQuery) {
    const chunk = keys.slice(start, start + keysPerQuery)
    const { needed, expired } = await findFiles(database, chunk)
    const reasonOf = (key: string) => (needed.has(key) ? 'lost' : expired.has(key) ? 'expired' : 'deleted')
    missing.push(...chunk.map((key) => ({ storage_key: key, reason: reasonOf(key) }) as const))
  }
  return missing
}

/** Runs both. If one fails, the other is stopped before the error is thrown. */
const bothOrNone = async <First, Second>(
  outer: AbortSignal,
  first: (signal: AbortSignal) => Promise<First>,
  second: (signal: AbortSignal) => Promise<Second>,
): Promise<[First, Second]> => {
  const failed = new AbortController()
  const signal = AbortSignal.any([outer, failed.signal])
  const stopOther = (error: unknown) => {
    failed.abort(error)
    throw error
  }
  const both = [first(signal).catch(stopOther), second(signal).catch(stopOther)] as const
  await Promise.allSettled(both)
  signal.throwIfAborted()
  return Promise.all(both)
}

interface Snapshotted {
  takenAt: Date
  migrations: string[]
  counts: RecordCounts
  copy: MediaCopy
}

/** Dumps the database and copies the media of one snapshot. */
const copySnapshot = (
  dependencies: BackupDependencies,
  program: PostgresProgram,
  path: string,
  places: { early: string; earlier: string[] },
): Promise<Snapshotted> =>
  dependencies.postgres.transaction(async (database) => {
    const { mediaStore, onProgress, signal: outer } = dependencies
    const { id, takenAt } = await exportSnapshot(database)
    const [, { migrations, counts, copy }] = await bothOrNone(
      outer,
      (signal) => dump(dependencies, program, id, join(path, dumpName), signal),
      async (signal) => {
        const copy = await copyReferenced(
          referencedFiles(database),
          { source: mediaStore, target: join(path, mediaName), ...places },
          { signal, onProgress: ({ files }) => onProgress(`Collecting media: ${files} files`) },
        )
        const migrations = [...((await appliedMigrations(database)) ?? [])].toSorted()
        return { migrations, counts: await countRecords(database), copy }
      },
    )
    return { takenAt, migrations, counts, copy }
  })

/** The database must be one that this program knows, or media that newer tables refer to would be left out. */
const assertKnown = async (postgres: Postgres): Promise<void> => {
  const applied = await appliedMigrations(postgres)
  if (applied === undefined) {
    throw new Error('DATABASE_URL is not a database of Kinora: it has no migrations. Correct DATABASE_URL.')
  }
  const unknown = await unknownMigrations([...applied])
  if (unknown.length === 0) return
  throw new Error(
    `The database has migrations that this version of Kinora does not know: ${unknown.join(', ')}. Run the backup with the version that the roles run.`,
  )
}

/** Makes a backup in a new directory below `directory`. */
export const takeBackup = async (
  dependencies: BackupDependencies,
  directory: string,
  version: string,
): Promise<Backup> => {
  const { postgres, mediaStore, secrets, signal, onProgress } = dependencies
  await assertKnown(postgres)
  const { major, now } = await readServer(postgres)
  const program = await findProgram('pg_dump', major)
  const others = await listBackups(directory)
  const path = join(directory, backupNameAt(now))
  await mkdir(directory, { recursive: true, mode: 0o700 })
  await mkdir(path, { mode: 0o700 })
  await mkdir(join(path, mediaName), { mode: 0o700 })
  const early = join(path, earlyName)
  const earlier = others.flatMap((other) => [join(other.path, mediaName), join(other.path, earlyName)])

  const total = await countReferencedFiles(postgres)
  const first = await copyReferenced(
    referencedFiles(postgres),
    { source: mediaStore, target: early, earlier },
    { signal, onProgress: ({ files }) => onProgress(`Copying media: ${files} of ${total} files`) },
  )
  const { takenAt, migrations, counts, copy } = await copySnapshot(dependencies, program, path, {
    early,
    earlier,
  })
  // Files that were deleted before the snapshot.
  await rm(early, { recursive: true, force: true })

  onProgress('Hashing the dump')
  const file = join(path, dumpName)
  const missing = await explainMissing(postgres, copy.missing)
  const manifest: Manifest = {
    layout: layoutVersion,
    kinora_version: version,
    snapshot_at: takenAt.toISOString(),
    migrations,
    database: {
      size_bytes: (await stat(file)).size,
      sha256: await hashStream(createReadStream(file)),
      server_major: major,
      pg_dump_major: program.major,
      accounts: counts.accounts,
      tasks: counts.tasks,
      open_tasks: counts.openTasks,
      ledger_entries: counts.ledgerEntries,
    },
    media: { files: copy.files, size_bytes: copy.sizeBytes, missing },
    secrets: fingerprintsOf(secrets),
  }
  await writeManifest(path, manifest)
  return {
    path,
    manifest,
    copied: first.copied + copy.copied,
    copiedBytes: first.copiedBytes + copy.copiedBytes,
    incomplete: others.flatMap((other) => (other.isComplete ? [] : other.path)),
  }
}
