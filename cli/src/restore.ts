/** `kinora restore`: restores a backup into an empty database, and audits the result. */
import { loadSettings } from '@kinora/gateway/config'
import { auditLedger, restore as restoreBackup, type Restored } from '@kinora/gateway/main'

import { backupSettings } from './backup.ts'
import { createProgressLine, formatBytes, untilStopped } from './progress.ts'

const examplesMax = 5

const withExamples = (keys: string[]) => [
  ...keys.slice(0, examplesMax).map((key) => `  ${key}`),
  ...(keys.length > examplesMax ? ['  …'] : []),
]

const describeMedia = ({ media, manifest }: Restored): { lines: string[]; isSound: boolean } => {
  const known = new Map(manifest.media.missing.map(({ storage_key, reason }) => [storage_key, reason]))
  const missing = media.missing.filter((key) => known.get(key) !== 'deleted')
  const deleted = media.missing.length - missing.length
  return {
    lines: [
      `media: ${media.files} files with the recorded content, ${formatBytes(media.sizeBytes)}`,
      ...(media.expired === 0 ? [] : [`  missing: ${media.expired} files that have expired`]),
      ...(deleted === 0
        ? []
        : [
            `  missing: ${deleted} files that were deleted during the backup, by their owner or with their task`,
          ]),
      ...(missing.length === 0 ? [] : [`  MISSING: ${missing.length} files`, ...withExamples(missing)]),
      ...(media.damaged.length === 0
        ? []
        : [`  DAMAGED: ${media.damaged.length} files`, ...withExamples(media.damaged)]),
    ],
    isSound: missing.length === 0 && media.damaged.length === 0,
  }
}

const describeOpenTasks = ({ openTasks }: Restored): string[] => {
  const { queued, submitting, running, transcriptions, overdue } = openTasks
  const total = queued + submitting + running + transcriptions
  if (total === 0) return ['open tasks: 0']
  const lines: [number, string][] = [
    [queued, 'to be submitted. A provider that got one after the snapshot gets it again'],
    [
      submitting,
      'being submitted. They are repeated or looked up if the provider allows it, or wait for their deadline',
    ],
    [
      running,
      'at a provider, found by their reference. One whose job is gone there fails and is not charged',
    ],
    [transcriptions, 'transcriptions. Finished parts are kept'],
    [overdue, 'of all these past their deadline. They end at once, completed if the provider has the result'],
  ]
  return [
    `open tasks: ${total}. Workers continue them, and charge each that completes once`,
    ...lines.flatMap(([count, text]) => (count === 0 ? [] : `  ${count} ${text}`)),
  ]
}

const secretEffects: Record<string, string> = {
  KEY_HASH_SECRETS: 'API keys that were created under it do not work',
  LINK_SECRETS: 'links that were signed with it do not work',
  CREDENTIAL_SECRETS: 'the provider keys that were sealed with it must be set again',
  AUDIT_SECRETS: 'the audit log counts as changed',
}

/** Prints the result and returns the exit code: 1 if the ledger, the media or the secrets are not as they were. */
export const restore = async (
  directory: string,
  { repeatsErasures }: { repeatsErasures: boolean },
): Promise<number> => {
  const startedMs = performance.now()
  const settings = loadSettings([...backupSettings])
  const progress = createProgressLine()
  const order = { path: directory, repeatsErasures }
  const restored = await restoreBackup(settings, order, {
    signal: untilStopped(),
    onProgress: progress.show,
  }).finally(progress.clear)
  const { findings, durationMs } = await auditLedger(settings)
  const violated = findings.filter(({ violations }) => violations > 0)
  const { manifest, migrations, settingsWithoutSecret } = restored
  const media = describeMedia(restored)
  const lines = [
    `database: ${manifest.database.accounts} accounts, ${manifest.database.tasks} tasks, ${manifest.database.ledger_entries} ledger entries`,
    migrations.length === 0
      ? 'migrations: none were missing'
      : `migrations: applied ${migrations.join(', ')}`,
    violated.length === 0
      ? `ledger: consistent (${findings.length} invariants, ${durationMs} ms)`
      : `ledger: INCONSISTENT. Run \`kinora audit\`. Violated: ${violated.map(({ invariant }) => invariant).join(', ')}`,
    restored.erased === undefined
      ? 'erasures: NOT repeated, because of --without-erasures'
      : `erasures: repeated ${restored.erased.length} of accounts that were erased after the snapshot`,
    ...media.lines,
    ...settingsWithoutSecret.map(
      (name) =>
        `${name}: LACKS a secret that was in use at the snapshot. Add it, or ${secretEffects[name] ?? 'data that needs it is unusable'}.`,
    ),
    ...describeOpenTasks(restored),
    `Everything after ${manifest.snapshot_at} is not in this backup: tasks, charges, top-ups, keys, and their changes.`,
    `Restored in ${((performance.now() - startedMs) / 1000).toFixed(1)} s. Start the roles with an empty Restate.`,
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
  return violated.length === 0 && media.isSound && settingsWithoutSecret.length === 0 ? 0 : 1
}
