/** How the commands find the service that `kinora dev` runs in the current directory. */
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import type { Service } from './profiles.ts'

/** The service with a key for each of its two APIs. */
export interface DevService extends Service {
  /** Versions before this one did not write it. */
  operatorKey?: string
}

const fileIn = (directory: string) => join(directory, 'service.json')

/** Called by `kinora dev` when the service is ready. */
export const announceService = async (directory: string, service: DevService): Promise<void> => {
  const file = fileIn(directory)
  await writeFile(`${file}.new`, `${JSON.stringify(service)}\n`, { mode: 0o600 })
  await rename(`${file}.new`, file)
}

export const withdrawService = async (directory: string): Promise<void> => {
  await rm(fileIn(directory), { force: true })
}

/**
 * The service that runs with the data in a directory; undefined if there is none. A file that names another machine is
 * ignored: it did not come from `kinora dev`, and would receive what the caller sends.
 */
export const findDevService = async (directory: string): Promise<DevService | undefined> => {
  try {
    const { url, key, operatorKey } = JSON.parse(
      await readFile(fileIn(directory), 'utf8'),
    ) as Partial<DevService>
    if (typeof url !== 'string' || typeof key !== 'string') return undefined
    if (!['127.0.0.1', 'localhost', '[::1]'].includes(new URL(url).hostname)) return undefined
    return { url, key, ...(typeof operatorKey === 'string' && { operatorKey }) }
  } catch {
    return undefined
  }
}
