import type { Instant } from '../billing/ledger/ledger-store.ts'
import { matchMetadata } from '../metadata/match-metadata.ts'
import { deleteUsageMetadata } from '../platform/database/usage-metadata-store.ts'
import type { ListPosition } from '../platform/list-position.ts'
import type { Database } from '../platform/postgres.ts'
import { requestRemovals, type FileRemoval } from '../storage/removal/file-removal-store.ts'
import { deleteStoredResponses } from '../tasks/stored-response-store.ts'
import type { Ending, TranscriptionTask } from './transcription-task.ts'
import { workState, type WorkState } from './work-state.ts'

const taskColumns = `id, day, account_id as "accountId", key_id as "keyId", model,
  coalesce(model_name, model) as "modelName", state,
  transcription_order as "order", duration_ms as "durationMs", done_ms as "doneMs", wallet, prices,
  hold_micros as "holdMicros", error_code as "errorCode", error_message as "errorMessage",
  recording_key as "recordingKey", created_at as "createdAt", finished_at as "finishedAt",
  expires_at as "expiresAt", has_transcript as "hasTranscript"`

type Row = TranscriptionTask & Record<string, unknown>

/**
 * Inserts an accepted task: the record, and the row from which the dispatcher claims it. Lists are ordered by creation
 * time, so `createdAt` has full precision; the task's own time is truncated to milliseconds.
 */
export const insertTranscription = async (
  database: Database,
  task: TranscriptionTask,
  deadlineAt: Date,
  createdAt?: Instant,
): Promise<void> => {
  await database.query(
    `with recorded as (
       insert into transcription_tasks (day, id, account_id, key_id, model, model_name, transcription_order, duration_ms,
                                        wallet, prices, hold_micros, recording_key, created_at, webhook)
       values ($1, $2, $3, $4, $5, nullif($15, $5), $6, $7, $8, $9, $10, $11, coalesce($14::timestamptz, $12::timestamptz), $16)
     )
     insert into open_transcriptions (task_id, day, account_id, accepted_at, not_before, deadline_at)
     values ($2, $1, $3, $12, $12, $13)`,
    [
      task.day,
      task.id,
      task.accountId,
      task.keyId,
      task.model,
      JSON.stringify(task.order),
      task.durationMs,
      task.wallet,
      JSON.stringify(task.prices),
      task.holdMicros,
      task.recordingKey,
      task.createdAt,
      deadlineAt,
      createdAt ?? null,
      task.modelName,
      task.webhook === undefined ? null : JSON.stringify(task.webhook),
    ],
  )
}

/** Finds a task of any account. */
export const findTranscription = async (
  database: Database,
  day: string,
  id: string,
): Promise<TranscriptionTask | undefined> => {
  const { rows } = await database.query<Row>(
    `select ${taskColumns} from transcription_tasks where day = $1 and id = $2`,
    [day, id],
  )
  return rows[0]
}

/** A page of an account's tasks created since `since`, in order of creation, starting after a position. */
export const listTranscriptions = async (
  database: Database,
  accountId: string,
  since: Date,
  page: {
    order: 'asc' | 'desc'
    after: ListPosition | undefined
    limit: number
    metadata?: readonly (readonly [key: string, value: string])[]
  },
): Promise<TranscriptionTask[]> => {
  const { order, after, limit, metadata = [] } = page
  const values: unknown[] = [accountId, limit, since, ...(after === undefined ? [] : [after.at, after.id])]
  const isAfter = after === undefined ? '' : `and (created_at, id) ${order === 'asc' ? '>' : '<'} ($4, $5)`
  const matches = matchMetadata(`(transcription_order -> 'metadata')`, metadata, values).map(
    (each) => `and ${each}`,
  )
  const { rows } = await database.query<Row>(
    `select ${taskColumns} from transcription_tasks where account_id = $1 and created_at >= $3 ${isAfter} ${matches.join(' ')}
      order by created_at ${order}, id ${order} limit $2`,
    values,
  )
  return rows
}

export type FinishedTranscription = Pick<
  TranscriptionTask,
  'accountId' | 'keyId' | 'wallet' | 'holdMicros' | 'model'
> & {
  capturedMicros: number
  createdAt: Date
  finishedAt: Date
  /** How the work on it stood; null if it had no open row. */
  endState: WorkState | null
}

/**
 * Ends a task: sets its final state by compare-and-set, deletes its row in `open_transcriptions` and, if it failed, its
 * recording segments. Only the first caller gets the task; later ones get undefined.
 */
export const finishTranscription = async (
  database: Database,
  day: string,
  id: string,
  ending: Ending,
  expiresAt: Date,
): Promise<FinishedTranscription | undefined> => {
  const failure = ending.kind === 'failed' ? ending : undefined
  const { rows } = await database.query<FinishedTranscription & Record<string, unknown>>(
    `with closed as (
       delete from open_transcriptions o where o.task_id = $2 returning ${workState('$8::jsonb')} as end_state
     ), moved as (
       update transcription_tasks
          set state = $3, finished_at = now(), status_updated_at = now(), last_event = last_event + 1, end_state = (select closed.end_state from closed),
              done_ms = case when $3 = 'completed' then duration_ms else done_ms end,
              captured_micros = case
                when $3 = 'completed' then hold_micros
                when $7 then ceil(hold_micros * least(done_ms, duration_ms)::numeric / duration_ms)
                else 0 end,
              expires_at = case when $3 = 'completed' then $6::timestamptz end,
              has_transcript = $3 = 'completed', error_code = $4, error_message = $5
        where day = $1 and id = $2 and state in ('pending', 'processing')
        returning day, id, webhook, last_event, account_id as "accountId", key_id as "keyId", wallet, hold_micros as "holdMicros",
                  coalesce(captured_micros, 0) as "capturedMicros", model, state, created_at as "createdAt",
                  coalesce(finished_at, now()) as "finishedAt", end_state as "endState"
     ), event as (
       insert into task_events (day, task_id, id, kind, object, account_id, webhook)
       select day, id, last_event, state, 'transcription_task', "accountId", webhook from moved
     ), dropped as (
       delete from transcription_segments s using moved where s.task_id = moved.id and moved.state = 'failed'
     )
     select "accountId", "keyId", wallet, "holdMicros", "capturedMicros", model, "createdAt", "finishedAt", "endState"
       from moved`,
    [
      day,
      id,
      ending.kind,
      failure?.code ?? null,
      failure?.message ?? null,
      expiresAt,
      failure?.isPartCharged ?? false,
      failure?.failure === undefined ? null : JSON.stringify(failure.failure),
    ],
  )
  return rows[0]
}

/** Records that a task's recording was removed from storage. */
export const clearRecordingKey = async (database: Database, day: string, id: string): Promise<void> => {
  await database.query(`update transcription_tasks set recording_key = null where day = $1 and id = $2`, [
    day,
    id,
  ])
}

/** Ended tasks whose recording is still stored, because the process that ended them crashed before removing it. */
export const findLeftoverRecordings = async (
  database: Database,
  limit: number,
): Promise<{ day: string; id: string; recordingKey: string }[]> => {
  const { rows } = await database.query<{ day: string; id: string; recordingKey: string }>(
    `select day, id, recording_key as "recordingKey" from transcription_tasks
      where recording_key is not null and finished_at < now() - interval '1 minute' limit $1`,
    [limit],
  )
  return rows
}

/** Deletes expired transcripts. Their tasks remain. */
export const dropExpiredTranscripts = async (database: Database, limit: number): Promise<number> => {
  const { rows } = await database.query<{ id: string }>(
    `with expired as (
       update transcription_tasks t set has_transcript = false
         from (select day, id from transcription_tasks
                where has_transcript and expires_at <= now() limit $1) due
        where t.day = due.day and t.id = due.id returning t.id
     ), dropped as (
       delete from transcription_segments s using expired where s.task_id = expired.id
     )
     select id from expired`,
    [limit],
  )
  return rows.length
}

/**
 * Deletes those of these tasks that have ended, with their transcripts, but not their ledger movements, and requests the removal
 * of recordings that are still stored.
 */
export const deleteEndedTranscriptions = async (
  database: Database,
  tasks: { day: string; id: string; accountId: string }[],
): Promise<{ ids: string[]; files: FileRemoval[] }> => {
  const { rows } = await database.query<{ id: string; removalId: number | null; storageKey: string | null }>(
    `with deleted as (
       delete from transcription_tasks t using jsonb_to_recordset($1::jsonb) as given (day date, id text, "accountId" uuid)
        where t.day = given.day and t.id = given.id and t.account_id = given."accountId"
          and t.day = any($2::date[]) and t.state in ('completed', 'failed')
       returning t.day, t.id, t.account_id, t.recording_key as storage_key, t.finished_at
     ), dropped as (
       delete from transcription_segments s using deleted where s.task_id = deleted.id
     ), events as (
       delete from task_events e using deleted
        where e.day = deleted.day and e.task_id = deleted.id and e.day = any($2::date[])
     ), metadata as (${deleteUsageMetadata('deleted')}), responses as (${deleteStoredResponses('deleted')}), requested as (${requestRemovals('deleted where storage_key is not null')})
     select deleted.id, requested.id as "removalId", "storageKey"
       from deleted left join requested on "storageKey" = storage_key`,
    [
      JSON.stringify(tasks.map(({ day, id, accountId }) => ({ day, id, accountId }))),
      [...new Set(tasks.map(({ day }) => day))],
    ],
  )
  return {
    ids: rows.map(({ id }) => id),
    files: rows.flatMap(({ removalId, storageKey }) =>
      removalId === null || storageKey === null ? [] : { id: removalId, storageKey },
    ),
  }
}
