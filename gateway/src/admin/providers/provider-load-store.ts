import type { Database } from '../../platform/postgres.ts'

export interface ProviderLoad {
  inFlight: number
  waiting: number
}

/** The number of tasks of each provider. Providers without tasks are absent. */
export const readProviderLoads = async (database: Database): Promise<Map<string, ProviderLoad>> => {
  const { rows } = await database.query<ProviderLoad & { provider: string }>(
    `select provider, count(*) filter (where stage <> 'accepted') as "inFlight",
            count(*) filter (where stage = 'accepted') as waiting
       from open_tasks group by provider`,
  )
  return new Map(rows.map(({ provider, ...load }) => [provider, load]))
}
