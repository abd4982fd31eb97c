import type { ServiceStatus } from '@kinora/contract/operations/status'

import { observeOnce, staleSeconds, type ObserveDependencies } from './observe-service.ts'
import { readStatus, withoutDatabase } from './read-status.ts'

/** How long a status is shown. */
export const freshSeconds = 10

export type CurrentStatus = () => Promise<ServiceStatus>

/** The status is read every ten seconds at most, however many requests there are. */
export const createCurrentStatus = (dependencies: ObserveDependencies): CurrentStatus => {
  const { postgres, log } = dependencies
  let current: { status: Promise<ServiceStatus>; atMs: number } | undefined
  let last: ServiceStatus | undefined
  const read = async (): Promise<ServiceStatus> => {
    try {
      // Otherwise it was just observed, by this process or another.
      await observeOnce(dependencies, staleSeconds * 1000)
      last = await readStatus(postgres)
      return last
    } catch (error) {
      log.warn({ err: error }, 'status.not-read')
      return withoutDatabase(last)
    }
  }
  return async () => {
    if (current === undefined || performance.now() - current.atMs >= freshSeconds * 1000) {
      current = { status: read(), atMs: performance.now() }
    }
    return current.status
  }
}
