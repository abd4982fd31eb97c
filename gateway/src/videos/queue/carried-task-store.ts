/** The tasks that the engine should carry, for the comparison with those that it does carry. */
import type { CarriedTasks } from '../../platform/engine/anti-entropy.ts'
import type { Run } from '../../platform/engine/run-key.ts'
import type { Database } from '../../platform/postgres.ts'
import { runsIn } from '../../tasks/run-store.ts'
import { videoTables } from '../task.ts'
import { advanceVideoName } from '../video-run.ts'

// A poll loop starts a run within milliseconds; a busy one may need seconds.
const notPolledSeconds = 20
const overduePerCheck = 1_000

/** The providers with waiting tasks. A loose scan of the index, because the queues may be long. */
export const findQueuedProviders = async (database: Database): Promise<string[]> => {
  const { rows } = await database.query<{ provider: string }>(
    `with recursive queued (provider) as (
       (select provider from open_tasks where stage = 'accepted' order by provider limit 1)
       union all
       select (select o.provider from open_tasks o
                where o.stage = 'accepted' and o.provider > queued.provider order by o.provider limit 1)
         from queued where queued.provider is not null
     )
     select provider from queued where provider is not null`,
  )
  return rows.map(({ provider }) => provider)
}

/** Those of these providers for which a task could start, and whether one of them has waited so long. */
export const findProvidersWithQueue = async (
  database: Database,
  providers: string[],
  waitedMs: number,
): Promise<{ provider: string; hasWaited: boolean }[]> => {
  const { rows } = await database.query<{ provider: string; hasWaited: boolean }>(
    `select name as provider,
            exists (select from open_tasks o where o.provider = name and o.stage = 'accepted'
                       and o.not_before <= now() - make_interval(secs => $2 / 1000.0)) as "hasWaited"
       from unnest($1::text[]) as name
      where exists (select from open_tasks o where o.provider = name and o.stage = 'accepted' and o.not_before <= now())`,
    [providers, waitedMs],
  )
  return rows
}

/** Tasks whose outcome or deadline the poll loop has not seen. */
const findNotPolled = async (database: Database): Promise<Run[]> => {
  const { rows } = await database.query<Run & Record<string, unknown>>(
    `select task_id as "taskId", run from open_tasks
      where stage = 'waiting'
        and (deadline_at < now() - make_interval(secs => $1)
             or (outcome is not null and next_poll_at < now() - make_interval(secs => $1))) limit $2`,
    [notPolledSeconds, overduePerCheck],
  )
  return rows
}

export const carriedVideos = (database: Database): CarriedTasks => {
  const runs = runsIn(database, videoTables, ['starting', 'submitting', 'storing'])
  return {
    ...runs,
    service: advanceVideoName,
    findOverdue: async () => [...(await findNotPolled(database)), ...(await runs.findOverdue())],
  }
}
