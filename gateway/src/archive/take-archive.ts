/**
 * Archives the ledger and the usage of closed years: exports the rows to compressed files, reads them back, and only then
 * removes the rows, in one transaction with the opening balances and the monthly sums that stand for them. A crash before
 * that transaction changes nothing; after it, the next archive drops the partitions that are left.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'

import { readServer } from '../backup/backup-store.ts'
import { isSound, runFullAudit } from '../billing/ledger/audit-ledger.ts'
import { lockAudits } from '../billing/ledger/ledger-audit-store.ts'
import { addToStatementSums } from '../billing/ledger/statement-sums-store.ts'
import { longStatementTimeoutMs } from '../platform/database/long-statements.ts'
import { isLockTimeout } from '../platform/postgres-errors.ts'
import type { Database, Postgres } from '../platform/postgres.ts'
import { measureFile, writeLines } from './archive-file.ts'
import { writeManifest, type ArchivedFile, type ArchiveManifest } from './archive-manifest.ts'
import {
  addToOpenings,
  beginExport,
  digestOf,
  dropArchived,
  findObstacles,
  findSources,
  insertArchive,
  lockSource,
  readLines,
  removeSource,
  type Digest,
  type Source,
} from './archive-store.ts'

export interface ArchiveDependencies {
  postgres: Postgres
  signal: AbortSignal
  onProgress: (text: string) => void
}

interface Counted extends Source {
  digest: Digest
}

export interface ArchivePreview {
  sources: Counted[]
  /** Why it cannot be archived now. */
  problems: string[]
}

const limits = { statementTimeoutMs: longStatementTimeoutMs }
// Like a migration: it must not make the service wait for a lock that others hold for long.
const lockLimits = { statementTimeoutMs: longStatementTimeoutMs, lockTimeoutMs: 800 }
const lockTriesMax = 30
const betweenTriesMs = 1_000

const firstDayOf = (year: number) => `${String(year).padStart(4, '0')}-01-01`

const problemsOf = async (database: Database, before: string): Promise<string[]> => {
  const { hasBegun, tasks, archivedBefore } = await findObstacles(database, before)
  return [
    ...(hasBegun ? [] : [`The year before ${before} has not ended.`]),
    ...(tasks === 0
      ? []
      : [
          `${tasks} tasks and requests from before ${before} still exist, and their receipts need the ledger. Retention deletes them; see \`kinora retention --dry-run\`.`,
        ]),
    ...(archivedBefore !== null && archivedBefore >= before
      ? [`Everything before ${archivedBefore} is archived already.`]
      : []),
  ]
}

const countSources = async (database: Database, before: string): Promise<Counted[]> => {
  const counted: Counted[] = []
  for (const source of await findSources(database, before)) {
    const digest = await digestOf(database, source)
    if (source.isWhole || digest.rows > 0) counted.push({ ...source, digest })
  }
  return counted
}

/** What an archive of everything before the year would take, without changing anything. */
export const previewArchive = (postgres: Postgres, year: number): Promise<ArchivePreview> =>
  postgres.transaction(async (database) => {
    await beginExport(database)
    const before = firstDayOf(year)
    return { sources: await countSources(database, before), problems: await problemsOf(database, before) }
  }, limits)

const exportSources = (
  { postgres, signal, onProgress }: ArchiveDependencies,
  directory: string,
  before: string,
): Promise<{ sources: Counted[]; files: ArchivedFile[] }> =>
  postgres.transaction(async (database) => {
    await beginExport(database)
    const sources = await countSources(database, before)
    const files: ArchivedFile[] = []
    for (const source of sources) {
      const { table, name, digest } = source
      const file = `${name}.jsonl.gz`
      onProgress(`Exporting ${name}: ${digest.rows} rows`)
      const figures = await writeLines(join(directory, file), readLines(database, source), signal)
      if (figures.rows !== digest.rows) {
        throw new Error(`${file} has ${figures.rows} rows instead of ${digest.rows}. Nothing was deleted.`)
      }
      files.push({ table, file, ...figures })
    }
    return { sources, files }
  }, limits)

const verifyFiles = async (
  { signal, onProgress }: ArchiveDependencies,
  directory: string,
  files: ArchivedFile[],
): Promise<void> => {
  for (const { table, file, ...written } of files) {
    onProgress(`Verifying ${file}`)
    const read = await measureFile(join(directory, file), signal)
    if (!isDeepStrictEqual(read, written)) {
      throw new Error(
        `${join(directory, file)} of ${table} is not what was written. Nothing was deleted. Check the disk.`,
      )
    }
  }
}

const assertSound = async (postgres: Postgres, consequence: string): Promise<void> => {
  const { findings } = await runFullAudit(postgres)
  if (isSound(findings)) return
  const violated = findings.flatMap(({ invariant, violations }) => (violations > 0 ? invariant : []))
  throw new Error(`The ledger is inconsistent (${violated.join(', ')}). Run \`kinora audit\`. ${consequence}`)
}

/** Replaces the exported rows by opening balances, if they are still what was exported. */
const replaceByOpenings = (
  postgres: Postgres,
  { sources, before, manifestSha256 }: { sources: Counted[]; before: string; manifestSha256: string },
): Promise<void> =>
  postgres.transaction(async (database) => {
    await lockAudits(database)
    for (const source of sources) {
      await lockSource(database, source)
      if (!isDeepStrictEqual(await digestOf(database, source), source.digest)) {
        throw new Error(`${source.name} has changed since it was exported. Nothing was deleted. Start again.`)
      }
    }
    await addToStatementSums(database, before)
    await insertArchive(database, { before, manifestSha256, ...(await addToOpenings(database, before)) })
    // Refunds refer to movements.
    for (const source of sources.toReversed()) await removeSource(database, source)
  }, lockLimits)

const withRetries = async (work: () => Promise<void>): Promise<void> => {
  for (let tries = 1; ; tries += 1) {
    try {
      await work()
      return
    } catch (error) {
      if (!isLockTimeout(error) || tries >= lockTriesMax) throw error
      await pause(betweenTriesMs)
    }
  }
}

export interface Archive {
  path: string
  manifest: ArchiveManifest
  dropped: string[]
}

/** Archives everything before the year into a new directory below `directory`. */
export const takeArchive = async (
  dependencies: ArchiveDependencies,
  { year, directory, version }: { year: number; directory: string; version: string },
): Promise<Archive> => {
  const { postgres, onProgress } = dependencies
  const before = firstDayOf(year)
  await dropArchived(postgres)
  const problems = await problemsOf(postgres, before)
  if (problems.length > 0) throw new Error(problems.join('\n'))
  onProgress('Auditing the ledger')
  await assertSound(postgres, 'Nothing was archived.')
  const { now } = await readServer(postgres)
  const exportedAt = now.toISOString()
  const path = join(directory, `before-${year}-${exportedAt.replaceAll(/[:.]/g, '-')}`)
  await mkdir(path, { recursive: true, mode: 0o700 })
  const { sources, files } = await exportSources(dependencies, path, before)
  await verifyFiles(dependencies, path, files)
  const manifest: ArchiveManifest = {
    ...{ layout: 1, kinora_version: version, before, exported_at: exportedAt, files },
  }
  const manifestSha256 = await writeManifest(path, manifest)
  onProgress('Removing the archived rows')
  await withRetries(() => replaceByOpenings(postgres, { sources, before, manifestSha256 }))
  const dropped = await dropArchived(postgres)
  onProgress('Auditing the ledger')
  await assertSound(postgres, `The archive is in ${path}.`)
  return { path, manifest, dropped }
}
