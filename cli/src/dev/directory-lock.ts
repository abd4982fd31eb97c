import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Two runs on one data directory would stop each other's servers, so the second one is refused. */
export async function lockDirectory(directory: string): Promise<{ stop: () => Promise<void> }> {
  const file = join(directory, 'dev.pid')
  const holder = Number(await readFile(file, 'utf8').catch(() => ''))
  if (holder > 0 && holder !== process.pid && isAlive(holder)) {
    throw new Error(
      `kinora dev (process ${holder}) already runs on ${directory}. Choose another one with --data.`,
    )
  }
  await writeFile(file, String(process.pid), { mode: 0o600 })
  return { stop: () => rm(file, { force: true }) }
}
