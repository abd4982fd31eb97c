/** `kinora archive`: moves the ledger and the usage of closed years from the database to files. */
import { loadSettings } from '@kinora/gateway/config'
import { archiveLedger, previewLedgerArchive } from '@kinora/gateway/main'

import { createProgressLine, formatBytes, untilStopped } from './progress.ts'

const say = (lines: string[]) => process.stdout.write(`${lines.join('\n')}\n`)
const loadArchiveSettings = () => loadSettings(['DATABASE_URL', 'LOG_LEVEL'])

const describeNext = (sources: number, problems: number, year: number): string => {
  if (problems > 0) return 'Nothing was changed.'
  return sources === 0
    ? `There is nothing from before ${year}.`
    : 'Nothing was changed. Add --execute and a directory to archive this.'
}

/** Reports what an archive would contain and returns the exit code: 1 if it is not possible now. */
export const showArchive = async (year: number): Promise<number> => {
  const { sources, problems } = await previewLedgerArchive(loadArchiveSettings(), year)
  say([
    ...sources.map(
      ({ name, isWhole, sizeBytes, digest }) =>
        `${name}: ${digest.rows} rows${isWhole ? `, ${formatBytes(sizeBytes)}` : ''}`,
    ),
    ...problems,
    describeNext(sources.length, problems.length, year),
  ])
  return problems.length === 0 ? 0 : 1
}

/** Archives, prints the result and returns the exit code. */
export const archive = async (directory: string, year: number, version: string): Promise<number> => {
  const progress = createProgressLine()
  const { path, manifest, dropped } = await archiveLedger(
    loadArchiveSettings(),
    { year, directory, version },
    { signal: untilStopped(), onProgress: progress.show },
  ).finally(progress.clear)
  say([
    ...manifest.files.map(
      ({ file, rows, size_bytes: size }) => `${file}: ${rows} rows, ${formatBytes(size)}`,
    ),
    `partitions dropped: ${dropped.length}`,
    'ledger: consistent with the opening balances',
    `${path}: copy it to a safe place. The database has these rows no longer.`,
  ])
  return 0
}
