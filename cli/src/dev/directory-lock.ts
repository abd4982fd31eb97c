import { rmSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { commandLineOf } from './foreign-process.ts'

/** Whether a command line is `kinora dev`. The process id of a crashed run may have been reused. */
const isDev = (commandLine: string): boolean => /kinora(?:\.[jt]s)? (?:\S+ )*dev(?: |$)/.test(commandLine)

/**
 * Rejects a second run on the same data directory, because the two would stop each other's servers. The lock file is
 * removed on exit. A file left by a killed run is ignored.
 */
export async function lockDirectory(directory: string): Promise<void> {
  const file = join(directory, 'dev.pid')
  const holder = Number(await readFile(file, 'utf8').catch(() => ''))
  if (holder > 0 && holder !== process.pid && isDev(commandLineOf(holder))) {
    throw new Error(
      `kinora dev (process ${holder}) already uses ${directory}. Stop it, or choose another directory with --data.`,
    )
  }
  await writeFile(file, String(process.pid), { mode: 0o600 })
  process.once('exit', () => rmSync(file, { force: true }))
}
