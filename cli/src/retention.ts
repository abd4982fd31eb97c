/** `kinora retention`: counts or deletes expired data. */
import { loadConfig } from '@kinora/gateway/config'
import { runRetention, previewRetention } from '@kinora/gateway/main'

const mebibytes = (bytes: number) => `${(bytes / 1_048_576).toFixed(1)} MiB`
const say = (lines: string[]) => process.stdout.write(`${lines.join('\n')}\n`)

export const showExpired = async (): Promise<void> => {
  const { media, tasks, responses, partitions, stuck, orphans } = await previewRetention(loadConfig())
  say([
    `expired results: ${media.expired} (${mebibytes(media.expiredBytes)})`,
    `leftover files of tasks: ${media.left}`,
    `expired tasks, including those in expired partitions: ${tasks}`,
    `expired idempotency records: ${responses}`,
    `expired partitions: ${partitions.length}`,
    ...partitions.map(
      ({ name, first, last, sizeBytes }) => `  ${name}, ${first} to ${last}, ${mebibytes(sizeBytes)}`,
    ),
    ...stuck.map(
      ({ name, first, last }) => `  ${name}, ${first} to ${last}, retained: it still contains needed rows`,
    ),
    `orphaned files: ${orphans.unknown} (${orphans.known} files have a record)`,
    'Nothing was changed.',
  ])
}

export const clear = async (): Promise<void> => {
  const { expired, leftOver, tasks, files, jobs, responses, partitions, orphans } =
    await runRetention(loadConfig())
  say([
    `results deleted: ${expired}`,
    `leftover files of tasks deleted: ${leftOver}`,
    `tasks deleted one by one: ${tasks}`,
    `files of deleted tasks deleted later: ${files}`,
    `jobs of deleted tasks deleted at providers: ${jobs}`,
    `idempotency records deleted: ${responses}`,
    `partitions dropped: ${partitions.length}${partitions.map((name) => `\n  ${name}`).join('')}`,
    `orphaned files deleted: ${orphans}`,
  ])
}
