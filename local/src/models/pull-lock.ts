import { randomUUID } from 'node:crypto'
import { mkdir, readFile, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

const aliveEveryMs = 5_000
const deadAfterMs = 30_000
const lookEveryMs = 200
const workPrefix = '.pulling-'

export interface PullLock {
  /** A temporary folder of this pull, on the same file system as the models. */
  workFolder: string
  release: () => Promise<void>
}

const ageOf = (path: string): Promise<number> =>
  stat(path).then(
    ({ mtimeMs }) => Date.now() - mtimeMs,
    () => 0,
  )

/** Checks the process of a holder on this machine, or the age of the lock file of a holder on another machine. */
const isHeld = async (file: string): Promise<boolean> => {
  const [host, pid] = (await readFile(file, 'utf8').catch(() => '')).split(' ')
  if (host === hostname() && Number(pid) > 0) {
    try {
      process.kill(Number(pid), 0)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false
    }
  }
  return (await ageOf(file)) < deadAfterMs
}

/** Removes the temporary folders of killed pulls. */
const clearLeftovers = async (directory: string) => {
  for (const name of await readdir(directory)) {
    const path = join(directory, name)
    if (name.startsWith(workPrefix) && (await ageOf(path)) > deadAfterMs) {
      await rm(path, { recursive: true, force: true })
    }
  }
}

/**
 * Allows one pull at a time in a directory. The lock only avoids duplicate downloads: two concurrent pulls would be
 * safe, because each has its own temporary folder and moves complete files.
 */
export async function takePullLock(
  directory: string,
  signal: AbortSignal,
  onWaiting: () => void,
): Promise<PullLock> {
  await mkdir(directory, { recursive: true })
  const file = join(directory, '.pull.lock')
  const mark = `${hostname()} ${process.pid} ${randomUUID()}`
  let isWaiting = false
  for (;;) {
    signal.throwIfAborted()
    try {
      await writeFile(file, mark, { flag: 'wx' })
      break
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    if (await isHeld(file)) {
      if (!isWaiting) onWaiting()
      isWaiting = true
      await sleep(lookEveryMs, undefined, { signal })
    } else await rm(file, { force: true })
  }
  const workFolder = join(directory, `${workPrefix}${randomUUID()}`)
  try {
    await clearLeftovers(directory)
    await mkdir(workFolder)
  } catch (error) {
    await rm(file, { force: true })
    throw error
  }
  const alive = setInterval(() => {
    const now = new Date()
    for (const path of [file, workFolder]) void utimes(path, now, now).catch(() => {})
  }, aliveEveryMs)
  alive.unref()
  return {
    workFolder,
    async release() {
      clearInterval(alive)
      await rm(workFolder, { recursive: true, force: true })
      const holder = await readFile(file, 'utf8').catch(() => '')
      if (holder === mark) await rm(file, { force: true })
    },
  }
}
