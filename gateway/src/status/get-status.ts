import type { operations } from '@kinora/contract/operations'
import type { ServiceStatus } from '@kinora/contract/operations/status'

import type { Handler } from '../http/call.ts'
import { prefersPage } from '../platform/text/prefers-page.ts'
import { freshSeconds, type CurrentStatus } from './current-status.ts'
import { pageHeaders, statusPage } from './status-page.ts'

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

/** A status is rendered once, however many requests there are. */
export const getStatus = (currentStatus: CurrentStatus): Handler<typeof operations.getStatus> => {
  let rendered: Rendered | undefined
  return async (call) => {
    const status = await currentStatus()
    if (rendered?.status !== status) rendered = render(status)
    const { json, page } = rendered
    const caching = { 'cache-control': `public, max-age=${freshSeconds}`, vary: 'accept' }
    return prefersPage(call.header('accept'))
      ? { headers: { ...caching, ...pageHeaders }, body: page }
      : { headers: { ...caching, 'content-type': 'application/json; charset=utf-8' }, body: json }
  }
}
