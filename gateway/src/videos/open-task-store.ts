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
  /** Downloads of the result that failed, were incomplete or too slow. */
  failedDownloads: number
  /** The trace of the request that created the task; null if it was not traced. */
  traceContext: string | null
  acceptedAtMs: number
  deadlineMs: number
  isOverdue: boolean
}

interface OpenRow extends Omit<
  OpenTask,
  'outcomeUnknownSinceMs' | 'outcomeAtMs' | 'acceptedAtMs' | 'deadlineMs'
> {
  acceptedAgeMs: number
  outcomeUnknownAgeMs: number | null
  outcomeAgeMs: number | null
  remainingMs: number
}

const ageMs = (column: string) => `extract(epoch from now() - o.${column}) * 1000`

const openColumns = `o.task_id as "taskId", o.day, o.account_id as "accountId", o.provider, o.model, o.decision,
  o.tried_providers as tried, o.stage, o.run, o.submits, o.refusals, o.upstream, o.outcome,
  o.failed_downloads as "failedDownloads", o.trace_context as "traceContext", ${ageMs('accepted_at')} as "acceptedAgeMs",
  ${ageMs('outcome_unknown_since')} as "outcomeUnknownAgeMs", ${ageMs('outcome_at')} as "outcomeAgeMs",
  -${ageMs('deadline_at')} as "remainingMs", o.deadline_at <= now() as "isOverdue"`

const openTaskOf = (given: OpenRow): OpenTask => {
  const { outcomeUnknownAgeMs, outcomeAgeMs, acceptedAgeMs, remainingMs, ...row } = given
  const nowMs = performance.now()
  return {
    ...row,
    outcomeUnknownSinceMs: outcomeUnknownAgeMs === null ? null : nowMs - outcomeUnknownAgeMs,
    outcomeAtMs: outcomeAgeMs === null ? null : nowMs - outcomeAgeMs,
    acceptedAtMs: nowMs - acceptedAgeMs,
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
const currentRunOf = (row: CurrentRow): CurrentRun => ({ open: openTaskOf(row), task: row })

const runParameters = (runs: Run[]) => [runs.map(({ taskId }) => taskId), runs.map(({ run }) => run)]

const selectCurrentRuns = (more = '') =>
  `select ${taskColumns}, null::timestamptz as "mediaExpiresAt", ${openColumns}${more}
     from unnest($1::text[], $2::bigint[]) as wanted (task_id, run)
     join open_tasks o on o.task_id = wanted.task_id and o.run = wanted.run
     join video_tasks t on t.day = o.day and t.id = o.task_id`

/** The current runs among these, by task. A run is missing if its task has ended or a newer run has replaced it. */
export const findCurrentRuns = async (database: Database, runs: Run[]): Promise<Map<string, CurrentRun>> => {
  const { rows } = await database.query<CurrentRow>(selectCurrentRuns(), runParameters(runs))
  return new Map(rows.map((row) => [row.taskId, currentRunOf(row)]))
}

export type StoringRun = CurrentRun & { isStored: boolean }

/** Like `findCurrentRuns`, and whether the video is stored already. */
export const findStoringRuns = async (database: Database, runs: Run[]): Promise<Map<string, StoringRun>> => {
  const { rows } = await database.query<CurrentRow & { isStored: boolean }>(
    selectCurrentRuns(
      `, (select count(*) from media where task_id = o.task_id and kind = 'video') > 0 as "isStored"`,
    ),
    runParameters(runs),
  )
  return new Map(rows.map((row) => [row.taskId, { ...currentRunOf(row), isStored: row.isStored }]))
}

/** Leaves a task with a job to the poll loop, which polls the job after this time, or starts a run that stores its result. */
export const leaveToPollLoop = async (
  database: Database,
  { taskId, run }: Run,
  { waitMs, hasDownloadFailed = false }: { waitMs: number; hasDownloadFailed?: boolean },
): Promise<void> => {
  await database.query(
    `update open_tasks
        set stage = 'waiting', next_poll_at = now() + make_interval(secs => $3 / 1000.0),
            failed_downloads = failed_downloads + $4
      where task_id = $1 and run = $2`,
    [taskId, run, waitMs, hasDownloadFailed ? 1 : 0],
  )
}

/**
 * What an open task has instead of a job of this provider: another job, or another provider. Undefined if it has neither, or
 * has ended.
 */
export const findOtherJob = async (
  database: Database,
  taskId: string,
  provider: string,
): Promise<{ upstream: unknown; isElsewhere: boolean } | undefined> => {
  const { rows } = await database.query<{ upstream: unknown; isElsewhere: boolean }>(
    `select upstream, provider <> $2 as "isElsewhere" from open_tasks
      where task_id = $1 and (upstream is not null or provider <> $2)`,
    [taskId, provider],
  )
  return rows[0]
}

/** The task's job whose outcome is not known yet; undefined if there is none. */
export const findRunningJob = async (
  database: Database,
  taskId: string,
): Promise<{ provider: string; upstream: unknown } | undefined> => {
  const { rows } = await database.query<{ provider: string; upstream: unknown }>(
    `select provider, upstream from open_tasks
      where task_id = $1 and upstream is not null and outcome is null`,
    [taskId],
  )
  return rows[0]
}

/** Records the outcome of a job. The first outcome wins. If no run has the task, the poll loop may start one at once. */
export const recordOutcome = async (database: Database, taskId: string, outcome: Outcome): Promise<void> => {
  await database.query(
    `update open_tasks
        set outcome = coalesce(outcome, $2), outcome_at = coalesce(outcome_at, now()),
            next_poll_at = case when stage = 'waiting' then now() else next_poll_at end
      where task_id = $1`,
    [taskId, JSON.stringify(outcome)],
  )
}
