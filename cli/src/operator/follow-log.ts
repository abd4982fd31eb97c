/** Reads what is new in the request log, which has a request only after its response, in the order of arrival. */
import type { LoggedRequest } from '@kinora/client/admin'

interface LogPage {
  data: LoggedRequest[]
  next: string | null
}

type ReadPage = (
  params: { limit: number; from: number; cursor?: string },
  signal: AbortSignal,
) => Promise<LogPage>

const limit = 200
/** A request that takes longer than this is not shown. */
const windowSeconds = 600
/** Of every so many reads, one looks for slow requests behind those that are known. */
const deepEvery = 10
const pagesMax = 25

/**
 * Returns a function that reads the requests which it has not returned before, the oldest first. It reads pages until one
 * has nothing new, and sometimes the whole window.
 */
export const createLogReader = (
  readPage: ReadPage,
  now: () => number = () => Math.floor(Date.now() / 1000),
): ((signal: AbortSignal) => Promise<LoggedRequest[]>) => {
  const known = new Map<string, number>()
  let reads = 0
  return async (signal) => {
    const from = now() - windowSeconds
    for (const [id, at] of known) if (at < from) known.delete(id)
    const isDeep = reads % deepEvery === 0
    reads += 1
    const found: LoggedRequest[] = []
    let cursor: string | null = null
    for (let pages = 0; pages < pagesMax; pages += 1) {
      const page: LogPage = await readPage({ limit, from, ...(cursor !== null && { cursor }) }, signal)
      const fresh = page.data.filter(({ id }) => !known.has(id))
      found.push(...fresh)
      cursor = page.next
      if (cursor === null || (fresh.length === 0 && !isDeep)) break
    }
    // Only now, so that a read that fails in between loses nothing.
    for (const request of found) known.set(request.id, request.at)
    return found.toReversed()
  }
}
