import type { Database } from '../platform/postgres.ts'
import type { RetentionDays } from './retention-days.ts'

/** Retention days for the results of account `a`; $1 and $2 are the instance settings. */
export const mediaDays = `least(coalesce(a.media_retention_days, $1::integer), coalesce(a.task_retention_days, $2::integer))`

/** Ignores small differences: expiry times were computed with the clock of another machine. */
const isOff = (due: string, noted: string) => `abs(extract(epoch from ${due} - ${noted})) > 60`

/**
 * Applies the current retention settings to media that have not expired yet, so that a change of the settings affects
 * existing results. Variants expire with their video.
 */
export const alignMediaExpiry = async (
  database: Database,
  { media, task }: RetentionDays,
): Promise<number> => {
  const { rowCount } = await database.query(
    `with video as (
       select v.task_id, v.expires_at, v.created_at + make_interval(days => ${mediaDays}) as due_at
         from media v join accounts a on a.id = v.account_id
        where v.kind = 'video' and v.removed_at is null and v.expires_at > now()
     )
     update media m set expires_at = video.due_at from video
      where m.task_id = video.task_id and m.kind in ('video', 'thumbnail', 'spritesheet') and m.removed_at is null
        and ${isOff('video.due_at', 'video.expires_at')}`,
    [media, task],
  )
  return rowCount ?? 0
}

/** The same for transcripts, whose expiry is stored with their task. */
export const alignTranscriptExpiry = async (
  database: Database,
  { media, task }: RetentionDays,
): Promise<number> => {
  const { rowCount } = await database.query(
    `update transcription_tasks t set expires_at = due.due_at
       from (select t.day, t.id, t.finished_at + make_interval(days => ${mediaDays}) as due_at
               from transcription_tasks t join accounts a on a.id = t.account_id
              where t.has_transcript and t.expires_at > now()) due
      where t.day = due.day and t.id = due.id and ${isOff('due.due_at', 't.expires_at')}`,
    [media, task],
  )
  return rowCount ?? 0
}
