import type { SegmentFailure } from './transcription-task.ts'

/** How the work on a task stands, or stood when the task ended. Times are ISO 8601. */
export interface WorkState {
  stage: 'accepted' | 'starting' | 'working'
  /** Runs that the engine lost. */
  lostRuns: number
  startedAt?: string
  deadlineAt: string
  /** Of the last request that failed. */
  failure?: SegmentFailure
}

/** The state of a row `o` of `open_transcriptions`, as SQL. */
export const workState = (lastFailure = 'null::jsonb'): string =>
  `jsonb_strip_nulls(jsonb_build_object(
     'stage', o.stage, 'lostRuns', o.lost_runs, 'startedAt', o.started_at, 'deadlineAt', o.deadline_at,
     'failure', coalesce(${lastFailure}, (select s.failure from transcription_segments s
                                           where s.task_id = o.task_id and s.failure is not null
                                           order by s.failure ->> 'at' desc limit 1))))`
