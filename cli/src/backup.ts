/** `kinora backup`: copies the database and the media to a directory while the service runs. */
import { loadSettings } from '@kinora/gateway/config'
import { backUp } from '@kinora/gateway/main'

import { createProgressLine, formatBytes, untilStopped } from './progress.ts'

/** What a backup reads and what its restore needs. */
export const backupSettings = [
  ...([
    'DATABASE_URL',
    'DATABASE_DIRECT_URL',
    'MEDIA_DIRECTORY',
    'MEDIA_STORE',
    'MEDIA_STORE_ALSO_READ',
    'ERASURE_LIST',
    'LOG_LEVEL',
  ] as const),
  ...(['KEY_HASH_SECRETS', 'LINK_SECRETS', 'CREDENTIAL_SECRETS', 'AUDIT_SECRETS'] as const),
]

const examplesMax = 5

const reasons = {
  expired: 'have expired since the snapshot, so nobody needs them',
  deleted: 'were deleted since the snapshot, by their owner or because their task ended',
}

/** Prints the result and returns the exit code: 1 if the media directory lacks files that the database needs. */
export const backup = async (directory: string, version: string): Promise<number> => {
  const startedMs = performance.now()
  const settings = loadSettings([...backupSettings])
  const progress = createProgressLine()
  const { path, manifest, copied, copiedBytes, incomplete } = await backUp(settings, directory, version, {
    signal: untilStopped(),
    onProgress: progress.show,
  }).finally(progress.clear)
  const { database, media } = manifest
  const keysOf = (reason: string) =>
    media.missing.flatMap((each) => (each.reason === reason ? each.storage_key : []))
  const lost = keysOf('lost')
  const lines = [
    `database: ${formatBytes(database.size_bytes)}, ${database.accounts} accounts, ${database.tasks} tasks (${database.open_tasks} open), ${database.ledger_entries} ledger entries`,
    `media: ${media.files} files, ${formatBytes(media.size_bytes)}; copied: ${copied} files, ${formatBytes(copiedBytes)}`,
    ...(['expired', 'deleted'] as const).flatMap((reason) => {
      const count = keysOf(reason).length
      return count === 0 ? [] : `  not copied: ${count} files that ${reasons[reason]}`
    }),
    ...incomplete.map((other) => `incomplete: ${other}; delete it, unless another backup is running`),
    `snapshot: ${manifest.snapshot_at}; later changes are not in this backup`,
    `${path} (${((performance.now() - startedMs) / 1000).toFixed(1)} s)`,
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
  if (lost.length === 0) return 0
  process.stderr.write(
    [
      `${lost.length} files that the database needs are not in MEDIA_DIRECTORY (${settings.MEDIA_DIRECTORY}), or have another size. They are not in the backup:`,
      ...lost.slice(0, examplesMax).map((key) => `  ${key}`),
      ...(lost.length > examplesMax ? ['  …'] : []),
      'Check that MEDIA_DIRECTORY is that of the roles. If it is, look for the files in earlier backups.\n',
    ].join('\n'),
  )
  return 1
}
