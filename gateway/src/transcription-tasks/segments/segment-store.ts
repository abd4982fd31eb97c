import type { Database } from '../../platform/postgres.ts'
import type { RecordingSegment, SegmentFailure, SegmentTranscript } from '../transcription-task.ts'

export interface Plan {
  /** The number of segments that are planned so far. */
  count: number
  /** The end of the last one. */
  endMs: number
  /** All segments are known. */
  isComplete: boolean
}

export const readPlan = async (database: Database, taskId: string): Promise<Plan> => {
  const { rows } = await database.query<Plan & Record<string, unknown>>(
    `select count(*) as count, coalesce(max(end_ms), 0) as "endMs",
            coalesce((select is_planned from open_transcriptions where task_id = $1), false) as "isComplete"
       from transcription_segments where task_id = $1`,
    [taskId],
  )
  return rows[0] ?? { count: 0, endMs: 0, isComplete: false }
}

export type PlannedSegment = RecordingSegment & { transcript: SegmentTranscript | null }

/**
 * Inserts segments of an open task and adds the silent ones, which need no provider, to its progress. Existing segments
 * are not changed, so the step can be repeated. With the last segments, the task is planned.
 */
export const insertSegments = async (
  database: Database,
  { day, id }: { day: string; id: string },
  segments: PlannedSegment[],
  isLast: boolean,
): Promise<void> => {
  await database.query(
    `with inserted as (
       insert into transcription_segments (task_id, n, start_ms, end_ms, transcript)
       select $2, segment.n, segment."startMs", segment."endMs", segment.transcript
         from jsonb_to_recordset($3::jsonb) as segment (n integer, "startMs" bigint, "endMs" bigint, transcript jsonb)
        where exists (select from open_transcriptions where task_id = $2)
       on conflict do nothing
       returning start_ms, end_ms, transcript
     ), planned as (
       update open_transcriptions set is_planned = true where task_id = $2 and $4
     )
     update transcription_tasks
        set done_ms = done_ms + (select coalesce(sum(end_ms - start_ms), 0) from inserted where transcript is not null)
      where day = $1 and id = $2`,
    [day, id, JSON.stringify(segments), isLast],
  )
}

export interface OpenSegment extends RecordingSegment {
  /** The time until the next attempt; zero or less if it is due. */
  waitMs: number
  /** Failed requests that the provider may have processed. */
  failures: number
  /** Requests that the provider refused without processing them. */
  refusals: number
}

/** The segments without a transcript, in order. */
export const unfinishedSegments = async (database: Database, taskId: string): Promise<OpenSegment[]> => {
  const { rows } = await database.query<OpenSegment & Record<string, unknown>>(
    `select n, start_ms as "startMs", end_ms as "endMs", failures, refusals,
            coalesce(extract(epoch from not_before - now()) * 1000, 0)::double precision as "waitMs"
       from transcription_segments where task_id = $1 and transcript is null order by n`,
    [taskId],
  )
  return rows
}

/** Records a failed or refused request, and the time until the next attempt. */
export const postponeSegment = async (
  database: Database,
  taskId: string,
  n: number,
  { isRefusal, waitMs, failure }: { isRefusal: boolean; waitMs: number; failure: SegmentFailure },
): Promise<void> => {
  await database.query(
    `update transcription_segments
        set not_before = now() + make_interval(secs => $3 / 1000.0),
            failures = failures + case when $4 then 0 else 1 end,
            refusals = refusals + case when $4 then 1 else 0 end,
            failure = $5::jsonb || jsonb_build_object('at', now())
      where task_id = $1 and n = $2`,
    [taskId, n, waitMs, isRefusal, JSON.stringify(failure)],
  )
}

/**
 * Stores the transcript of a segment, unless there is one, and adds the segment to the task's progress and cost. The task is
 * locked before its segments, in the same order as by `finishTranscription`.
 */
export const recordTranscript = async (
  database: Database,
  { day, id }: { day: string; id: string },
  n: number,
  transcript: SegmentTranscript,
  { provider, costMicros }: { provider: string; costMicros: number | undefined },
): Promise<void> => {
  await database.query(
    `with task as materialized (
       select from transcription_tasks where day = $1 and id = $2 for update
     ), written as (
       update transcription_segments set transcript = $4
        where task_id = $2 and n = $3 and transcript is null and exists (select from task)
        returning end_ms - start_ms as ms
     )
     update transcription_tasks t
        set done_ms = t.done_ms + written.ms, provider = $5,
            cost_micros = case when $6::bigint is null then t.cost_micros else coalesce(t.cost_micros, 0) + $6 end
       from written where t.day = $1 and t.id = $2`,
    [day, id, n, JSON.stringify(transcript), provider, costMicros ?? null],
  )
}

/** The transcripts of the segments, in order, and the end of the last segment. */
export const readTranscripts = async (
  database: Database,
  taskId: string,
): Promise<{ transcripts: SegmentTranscript[]; endMs: number }> => {
  const { rows } = await database.query<{ transcript: SegmentTranscript; endMs: number }>(
    `select transcript, end_ms as "endMs" from transcription_segments
      where task_id = $1 and transcript is not null order by n`,
    [taskId],
  )
  return { transcripts: rows.map(({ transcript }) => transcript), endMs: rows.at(-1)?.endMs ?? 0 }
}
