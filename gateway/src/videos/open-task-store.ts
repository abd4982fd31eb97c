/** Tasks that have not ended: their stage, their current run, and the outcome of their job. */
import type { Run } from '../platform/engine/run-key.ts'
import type { Database } from '../platform/postgres.ts'
import type { Decision } from '../routing/route.ts'
import { taskColumns } from './task-store.ts'
import type { Outcome, VideoTask } from './task.ts'

/**
 * An open task as read by a step. Its times are on the monotonic clock of this process (`performance.now()`), converted
 * from ages that the database computes, so that no step depends on the wall clock of its worker.
 */
export interface OpenTask {
  taskId: string
  day: string
  accountId: string
  provider: string
  model: string
  /** Why this provider was chosen. */
  decision: Decision | null
  /** Providers that refused the task. */
  tried: string[]
  stage: 'accepted' | 'starting' | 'submitting' | 'waiting' | 'storing'
  run: number
  /** Submits begun so far; never decreases. */
  submits: number
  refusals: number
  /** Since when the outcome of a submit is unknown: the provider may have received it. */
  outcomeUnknownSinceMs: number | null
  upstream: unknown
  outcome: Outcome | null
  outcomeAtMs: number | null
  deadlineMs: number
  isOverdue: boolean
}

interface OpenRow extends Omit<OpenTask, 'outcomeUnknownSinceMs' | 'outcomeAtMs' | 'deadlineMs'> {
  outcomeUnknownAgeMs: number | null
  outcomeAgeMs: number | null
  remainingMs: number
}

const ageMs = (column: string) => `extract(epoch from now() - o.${column}) * 1000`

const openColumns = `o.task_id as "taskId", o.day, o.account_id as "accountId", o.provider, o.model, o.decision,
  o.tried_providers as tried, o.stage, o.run, o.submits, o.refusals, o.upstream, o.outcome,
  ${ageMs('outcome_unknown_since')} as "outcomeUnknownAgeMs", ${ageMs('outcome_at')} as "outcomeAgeMs",
  -${ageMs('deadline_at')} as "remainingMs", o.deadline_at <= now() as "isOverdue"`

const openTaskOf = ({ outcomeUnknownAgeMs, outcomeAgeMs, remainingMs, ...row }: OpenRow): OpenTask => {
  const nowMs = performance.now()
  return {
    ...row,
    outcomeUnknownSinceMs: outcomeUnknownAgeMs === null ? null : nowMs - outcomeUnknownAgeMs,
    outcomeAtMs: outcomeAgeMs === null ? null : nowMs - outcomeAgeMs,
    deadlineMs: nowMs + remainingMs,
  }
}

/** What a step works on: the open task, and the task as callers see it. */
export interface CurrentRun {
  open: OpenTask
  task: VideoTask
}

type CurrentRow = VideoTask & OpenRow & Record<string, unknown>

// Columns that both tables have are equal in both.
const currentRunOf = (row: CurrentRow | undefined): CurrentRun | undefined =>
  row === undefined ? undefined : { open: openTaskOf(row), task: row }

/** Undefined if the task has ended or a newer run has replaced this one; the step then has nothing to do. */
export const findCurrentRun = async (
  database: Database,
  { taskId, run }: Run,
): Promise<CurrentRun | undefined> => {
  const { rows } = await database.query<CurrentRow>(
    `select ${taskColumns}, null as "mediaExpiresAt", ${openColumns}
       from open_tasks o join video_tasks t on t.day = o.day and t.id = o.task_id
      where o.task_id = $1 and o.run = $2`,
    [taskId, run],
  )
  return currentRunOf(rows[0])
}

/** Records where the outcome of a job is to be sent that an earlier run has submitted. */
export const recordAwakeable = async (
  database: Database,
  { taskId, run }: Run,
  awakeable: string,
): Promise<void> => {
  await database.query('update open_tasks set awakeable = $3 where task_id = $1 and run = $2', [
    taskId,
    run,
    awakeable,
  ])
}

// An engine that was restored from a copy may wait for an outcome that it has been told before.
export const notifyStoringMs = 15_000

/** Records that the result is being stored, and returns what `findCurrentRun` does, and whether the video is stored already. */
export const beginStoring = async (
  database: Database,
  { taskId, run }: Run,
): Promise<(CurrentRun & { isStored: boolean }) | undefined> => {
  const { rows } = await database.query<CurrentRow & { isStored: boolean }>(
    `with o as (
       update open_tasks set stage = 'storing', next_poll_at = now() + make_interval(secs => $3 / 1000.0)
        where task_id = $1 and run = $2 returning *
     )
     select ${taskColumns}, null as "mediaExpiresAt", ${openColumns},
            (select count(*) from media where task_id = o.task_id and kind = 'video') > 0 as "isStored"
       from o join video_tasks t on t.day = o.day and t.id = o.task_id`,
    [taskId, run, notifyStoringMs],
  )
  const [row] = rows
  const current = currentRunOf(row)
  return current && row && { ...current, isStored: row.isStored }
}

/** Whether the task is open and no newer run has replaced this one. */
export const isCurrentRun = async (database: Database, { taskId, run }: Run): Promise<boolean> => {
  const { rowCount } = await database.query(`select from open_tasks where task_id = $1 and run = $2`, [
    taskId,
    run,
  ])
  return rowCount === 1
}

/** The job recorded for a task; undefined if there is none or the task has ended. */
export const findUpstream = async (database: Database, taskId: string): Promise<unknown> => {
  const { rows } = await database.query<{ upstream: unknown }>(
    `select upstream from open_tasks where task_id = $1 and upstream is not null`,
    [taskId],
  )
  return rows[0]?.upstream
}

/** The task's job whose outcome is not known yet; undefined if there is none. */
export const findRunningJob = async (
  database: Database,
  taskId: string,
): Promise<{ provider: string; upstream: unknown; awakeable: string | null } | undefined> => {
  const { rows } = await database.query<{ provider: string; upstream: unknown; awakeable: string | null }>(
    `select provider, upstream, awakeable from open_tasks
      where task_id = $1 and upstream is not null and outcome is null`,
    [taskId],
  )
  return rows[0]
}

/** Records the outcome of a job. The first outcome wins. */
export const recordOutcome = async (database: Database, taskId: string, outcome: Outcome): Promise<void> => {
  await database.query(
    `update open_tasks set outcome = coalesce(outcome, $2), outcome_at = coalesce(outcome_at, now())
      where task_id = $1`,
    [taskId, JSON.stringify(outcome)],
  )
}
