import type { Overview } from '@kinora/client/admin'
import { queryOptions } from '@tanstack/react-query'

import { kinoraAdmin } from '../service.ts'

export type { Overview }
export type OverviewProvider = Overview['providers'][number]
export type Attention = Overview['attention'][number]
export type SeriesStep = Overview['time_to_video']['series'][number]

/** The service makes the overview once in a few seconds for everybody. A hidden page does not ask. */
const refetchMs = 5_000

export const overviewQuery = queryOptions({
  queryKey: ['overview'],
  queryFn: (): Promise<Overview> => kinoraAdmin.overview.get(),
  refetchInterval: refetchMs,
})
