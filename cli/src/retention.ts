/** `kinora retention`: what is past its time, counted or cleared away. */
import { loadConfig } from '@kinora/gateway/config'
import { clearNow, previewRetention } from '@kinora/gateway/main'

const mebibytes = (bytes: number) => `${(bytes / 1_048_576).toFixed(1)} MiB`
const say = (lines: string[]) => process.stdout.write(`${lines.join('\n')}\n`)

export const showExpired = async (): Promise<void> => {
  const { media, responses, partitions, stuck, orphans } = await previewRetention(loadConfig())
  say([
    `results past their time: ${media.expired} (${mebibytes(media.expiredBytes)})`,
    `files that a task left behind: ${media.left}`,
    `replies no longer kept: ${responses}`,
    `partitions past their time: ${partitions.length}`,
    ...partitions.map(
      ({ name, first, last, sizeBytes }) => `  ${name}, ${first} to ${last}, ${mebibytes(sizeBytes)}`,
    ),
    ...stuck.map(
      ({ name, first, last }) => `  ${name}, ${first} to ${last}, stays: some of it is still needed`,
    ),
    `files without a record: ${orphans.unknown} (${orphans.known} have one), ${orphans.spooled} left on their way in`,
    'Nothing was changed.',
  ])
}

export const clear = async (): Promise<void> => {
  const { expired, leftOver, responses, partitions, orphans } = await clearNow(loadConfig())
  say([
    `results removed: ${expired}`,
    `files removed that a task left behind: ${leftOver}`,
    `replies forgotten: ${responses}`,
    `partitions dropped: ${partitions.length}${partitions.map((name) => `\n  ${name}`).join('')}`,
    `files without a record removed: ${orphans}`,
  ])
}
