import type { operations } from '@kinora/contract/operations'
import type { ServiceStatus } from '@kinora/contract/operations/status'

import type { Handler } from '../http/call.ts'
import { observeOnce, staleSeconds, type ObserveDependencies } from './observe-service.ts'
import { readStatus, withoutDatabase } from './read-status.ts'
import { pageHeaders, statusPage } from './status-page.ts'

const freshMs = 10_000

/** The preference of browsers. Other clients get JSON. */
const prefersPage = (accept: string | undefined): boolean => {
  const [first = ''] = (accept ?? '').split(',')
  return first.trim().startsWith('text/html')
}

interface Rendered {
  status: ServiceStatus
  json: string
  page: string
}

const render = (status: ServiceStatus): Rendered => ({
  status,
  json: JSON.stringify(status),
  page: statusPage(status),
})

/** The response is rendered every ten seconds at most, however many requests there are. */
export const getStatus = (dependencies: ObserveDependencies): Handler<typeof operations.getStatus> => {
  const { postgres, log } = dependencies
  let current: { rendered: Promise<Rendered>; atMs: number } | undefined
  let last: ServiceStatus | undefined
  const read = async (): Promise<Rendered> => {
    try {
      // Otherwise it was just observed, by this process or another.
      await observeOnce(dependencies, staleSeconds * 1000)
      last = await readStatus(postgres)
      return render(last)
    } catch (error) {
      log.warn({ err: error }, 'status.not-read')
      return render(withoutDatabase(last))
    }
  }
  return async (call) => {
    if (current === undefined || performance.now() - current.atMs >= freshMs) {
      current = { rendered: read(), atMs: performance.now() }
    }
    const { json, page } = await current.rendered
    const isPage = prefersPage(call.header('accept'))
    const caching = { 'cache-control': `public, max-age=${freshMs / 1000}`, vary: 'accept' }
    return isPage
      ? { headers: { ...caching, ...pageHeaders }, body: page }
      : { headers: { ...caching, 'content-type': 'application/json; charset=utf-8' }, body: json }
  }
}
