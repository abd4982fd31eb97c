/**
 * A kind of task for tests, as small as one can be; docs/add-a-task-kind.md describes it. A poster is drawn and then printed.
 */
import type { CarriedTasks } from '../../src/platform/engine/anti-entropy.ts'
import { loop, type Ticked } from '../../src/platform/engine/loop.ts'
import type { Run } from '../../src/platform/engine/run-key.ts'
import { runService } from '../../src/platform/engine/run-service.ts'
import type { RunningSteps } from '../../src/platform/engine/running-steps.ts'
import type { Database, Postgres } from '../../src/platform/postgres.ts'
import { dispatchTasks } from '../../src/tasks/dispatch-tasks.ts'
import { claimInTurn } from '../../src/tasks/queue-store.ts'
import { beginStep, runsIn } from '../../src/tasks/run-store.ts'
import { markProcessing } from '../../src/tasks/task-store.ts'
import type { TaskState, TaskTables } from '../../src/tasks/task.ts'

const tables: TaskTables = { tasks: 'poster_tasks', open: 'open_posters' }
const queue = { queue: '/posters', model: 'all', concurrency: 2 }
export const dispatcher = { loop: 'dispatchPosters', key: 'all', tables, service: 'makePoster' }

export const createPosterTables = (database: Database) =>
  database.query(
    `create table poster_tasks (
       day date not null, id text not null, account_id uuid not null, created_at timestamptz not null,
       state text not null default 'pending', primary key (day, id)
     );
     create table open_posters (
       task_id text primary key, day date not null, account_id uuid not null,
       stage text not null default 'accepted' check (stage in ('accepted', 'starting', 'working')),
       run bigint not null default 0, lost_runs integer not null default 0, claimed_by uuid, started_at timestamptz,
       accepted_at timestamptz not null, not_before timestamptz not null, deadline_at timestamptz not null
     )`,
  )

export const acceptPoster = async (database: Database, id: string, accountId: string): Promise<void> => {
  await database.query(
    `with task as (
       insert into poster_tasks (day, id, account_id, created_at) values (current_date, $1, $2, now())
     )
     insert into open_posters (task_id, day, account_id, accepted_at, not_before, deadline_at)
     values ($1, current_date, $2, clock_timestamp(), now(), now() + interval '1 hour')`,
    [id, accountId],
  )
}

/** Ends a task, once. */
const finishPoster = async (database: Database, { taskId }: Run, day: string, state: TaskState) => {
  await database.query(
    `with closed as (delete from open_posters where task_id = $1)
     update poster_tasks set state = $3 where day = $2 and id = $1 and state in ('pending', 'processing')`,
    [taskId, day, state],
  )
}

export interface PosterDependencies {
  postgres: Postgres
  /** An effect outside of the database. It recognizes a repetition. */
  perform: (effect: 'draw' | 'print', run: Run) => Promise<void>
  /** Where tests end the worker: before and after each effect, and after a claim. */
  reach?: (point: string, taskId: string) => void
}

const makePoster = async (
  { postgres, perform, reach = () => {} }: PosterDependencies,
  run: Run,
): Promise<void> => {
  const { taskId } = run
  for (const effect of ['draw', 'print'] as const) {
    const open = await beginStep(postgres, tables, run)
    if (open === undefined) return
    if (open.isOverdue) return finishPoster(postgres, run, open.day, 'failed')
    await markProcessing(postgres, tables, [{ day: open.day, id: taskId }])
    reach(`before ${effect}`, taskId)
    await perform(effect, run)
    reach(`after ${effect}`, taskId)
  }
  const open = await beginStep(postgres, tables, run)
  if (open === undefined) return
  await finishPoster(postgres, run, open.day, 'completed')
  reach('after finish', taskId)
}

export const dispatchPosters = async (
  { postgres, reach = () => {} }: Pick<PosterDependencies, 'postgres' | 'reach'>,
  tickId: string,
): Promise<Ticked> => {
  const ticked = await dispatchTasks(postgres, dispatcher, tickId, async (database) => ({
    runs: await claimInTurn(database, tables, queue, tickId),
  }))
  for (const { run } of ticked.starts ?? []) reach('after claim', run.taskId)
  return ticked
}

export const posterServices = (dependencies: PosterDependencies, steps: RunningSteps) => [
  runService(dispatcher.service, steps, (run) => makePoster(dependencies, run)),
  loop(dispatcher.loop, steps, (_key, tickId) => dispatchPosters(dependencies, tickId)),
]

export const carriedPosters = (database: Database): CarriedTasks => ({
  ...runsIn(database, tables, ['starting', 'working']),
  service: dispatcher.service,
})
