import { rmSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { commandLineOf } from './foreign-process.ts'

/** `kinora dev`, however it was started. The id of a run that crashed may be another process's by now. */
const isDev = (commandLine: string): boolean => /kinora(?:\.ts)? (?:\S+ )*dev(?: |$)/.test(commandLine)

/**
 * Two runs on one data directory would stop each other's servers, so the second one is refused. The file goes with the
 * process, however that ends; one that a killed run left behind is recognised.
 */
export async function lockDirectory(directory: string): Promise<void> {
  const file = join(directory, 'dev.pid')
  const holder = Number(await readFile(file, 'utf8').catch(() => ''))
  if (holder > 0 && holder !== process.pid && isDev(commandLineOf(holder))) {
    throw new Error(
      `kinora dev (process ${holder}) already runs on ${directory}. Choose another one with --data.`,
    )
  }
  await writeFile(file, String(process.pid), { mode: 0o600 })
  process.once('exit', () => rmSync(file, { force: true }))
}
