import type { adminOperations } from '@kinora/contract/admin-operations'
import type { Overview } from '@kinora/contract/operations/admin/overview'

import type { Handler } from '../../http/call.ts'
import { createSharedWork } from '../../platform/shared-work.ts'
import { keepFor } from './keep-for.ts'
import { createReadOverview, type OverviewDependencies } from './read-overview.ts'

const freshMs = 3_000

/** An overview is made every few seconds at most, however many consoles poll it. */
export const getOverview = (
  dependencies: OverviewDependencies,
): Handler<typeof adminOperations.getOverview> => {
  const read = keepFor(freshMs, createReadOverview(dependencies))
  const share = createSharedWork<Overview>()
  return async ({ signal }) => ({ body: await share('overview', signal, read) })
}
