import type { Database } from '../../platform/postgres.ts'
import type { RecordingSegment, SegmentTranscript } from '../transcription-task.ts'

/** How far a recording has been cut into pieces. */
export const plannedUntilMs = async (
  database: Database,
  taskId: string,
): Promise<{ segments: number; endMs: number }> => {
  const { rows } = await database.query<{ segments: number; endMs: number }>(
    `select count(*) as segments, coalesce(max(end_ms), 0) as "endMs" from transcription_segments where task_id = $1`,
    [taskId],
  )
  return rows[0] ?? { segments: 0, endMs: 0 }
}

export type PlannedSegment = RecordingSegment & { transcript: SegmentTranscript | null }

/**
 * Notes pieces of a task that is under way, and counts those that need nobody to write them down. A piece that is
 * noted already stays as it is, so a repeated step changes nothing.
 */
export const insertSegments = async (
  database: Database,
  { day, id }: { day: string; id: string },
  segments: PlannedSegment[],
): Promise<void> => {
  await database.query(
    `with noted as (
       insert into transcription_segments (task_id, n, start_ms, end_ms, transcript)
       select $2, segment.n, segment."startMs", segment."endMs", segment.transcript
         from jsonb_to_recordset($3::jsonb) as segment (n integer, "startMs" bigint, "endMs" bigint, transcript jsonb)
        where exists (select from open_transcriptions where task_id = $2)
       on conflict do nothing
       returning start_ms, end_ms, transcript
     )
     update transcription_tasks
        set done_ms = done_ms + (select coalesce(sum(end_ms - start_ms), 0) from noted where transcript is not null)
      where day = $1 and id = $2`,
    [day, id, JSON.stringify(segments)],
  )
}

export interface OpenSegment extends RecordingSegment {
  /** How long it has to wait before it may be tried again; zero or less when it may be now. */
  waitMs: number
  /** Requests that came to nothing although they may have arrived, and those that were turned away. */
  failures: number
  refusals: number
}

/** The pieces that are still to be written down, in their order. */
export const unfinishedSegments = async (database: Database, taskId: string): Promise<OpenSegment[]> => {
  const { rows } = await database.query<OpenSegment & Record<string, unknown>>(
    `select n, start_ms as "startMs", end_ms as "endMs", failures, refusals,
            coalesce(extract(epoch from not_before - now()) * 1000, 0)::double precision as "waitMs"
       from transcription_segments where task_id = $1 and transcript is null order by n`,
    [taskId],
  )
  return rows
}

/** Notes that a request came to nothing, and for how long the piece is to wait. */
export const postponeSegment = async (
  database: Database,
  taskId: string,
  n: number,
  { isRefusal, waitMs }: { isRefusal: boolean; waitMs: number },
): Promise<void> => {
  await database.query(
    `update transcription_segments
        set not_before = now() + make_interval(secs => $3 / 1000.0),
            failures = failures + case when $4 then 0 else 1 end,
            refusals = refusals + case when $4 then 1 else 0 end
      where task_id = $1 and n = $2`,
    [taskId, n, waitMs, isRefusal],
  )
}

/**
 * Keeps what is said in a piece; the first one stands and is counted. The task is locked before its pieces, as by whoever
 * ends it.
 */
export const recordTranscript = async (
  database: Database,
  { day, id }: { day: string; id: string },
  n: number,
  transcript: SegmentTranscript,
): Promise<void> => {
  await database.query(
    `with task as materialized (
       select from transcription_tasks where day = $1 and id = $2 for update
     ), written as (
       update transcription_segments set transcript = $4
        where task_id = $2 and n = $3 and transcript is null and exists (select from task)
        returning end_ms - start_ms as ms
     )
     update transcription_tasks t set done_ms = t.done_ms + written.ms from written where t.day = $1 and t.id = $2`,
    [day, id, n, JSON.stringify(transcript)],
  )
}

/** What is said in each piece, in their order, and where the last of them ends. */
export const readTranscripts = async (
  database: Database,
  taskId: string,
): Promise<{ segments: SegmentTranscript[]; endMs: number }> => {
  const { rows } = await database.query<{ transcript: SegmentTranscript; endMs: number }>(
    `select transcript, end_ms as "endMs" from transcription_segments
      where task_id = $1 and transcript is not null order by n`,
    [taskId],
  )
  return { segments: rows.map(({ transcript }) => transcript), endMs: rows.at(-1)?.endMs ?? 0 }
}
