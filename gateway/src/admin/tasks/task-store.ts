import type { Price } from '../../billing/prices/price.ts'
import type { Database } from '../../platform/postgres.ts'
import type { Exchange } from '../../providers/port/exchange.ts'
import type { Decision } from '../../routing/route.ts'
import {
  workState as recordingWorkState,
  type WorkState as RecordingWorkState,
} from '../../transcription-tasks/work-state.ts'
import { workState, type WorkState } from '../../videos/work-state.ts'
import { microsecondsOf, timeOf } from '../filter.ts'

/** A video or transcription task, as shown to operators. */
export interface TaskRecord {
  id: string
  day: string
  kind: 'video' | 'transcription'
  accountId: string
  accountName: string
  keyId: string
  keyName: string
  model: string
  provider: string | null
  state: 'pending' | 'processing' | 'completed' | 'failed'
  stage: string | null
  progress: number
  errorCode: string | null
  errorMessage: string | null
  holdMicros: number
  capturedMicros: number | null
  createdAt: Date
  createdMicroseconds: number
  finishedAt: Date | null
}

interface TaskFilter {
  accountId: string | undefined
  keyId: string | undefined
  model: string | undefined
  provider: string | undefined
  states: string[] | undefined
  errorCode: string | undefined
  from: Date | undefined
  to: Date | undefined
  /** Only tasks older than this position: creation time in microseconds, and id. */
  after: string[] | undefined
  limit: number
}

const common = `t.id, t.day, t.account_id as "accountId", t.key_id as "keyId", t.model, t.state,
  (select name from accounts where id = t.account_id) as "accountName",
  (select name from keys where id = t.key_id) as "keyName",
  t.error_code as "errorCode", t.error_message as "errorMessage", t.hold_micros as "holdMicros",
  t.captured_micros as "capturedMicros", t.created_at as "createdAt",
  ${microsecondsOf('t.created_at')} as "createdMicroseconds", t.finished_at as "finishedAt"`

const kinds = {
  video: {
    tasks: 'video_tasks',
    open: 'open_tasks',
    columns: `${common}, 'video' as kind, t.provider, t.progress`,
    more: `t.video_order ->> 'prompt' as prompt, t.video_order as "order", t.prices, t.cost_micros as "costMicros", t.upstream`,
    attempts: 'o.submits, o.refusals, o.submitted_at as "submittedAt", o.decision',
    work: workState('true'),
  },
  transcription: {
    tasks: 'transcription_tasks',
    open: 'open_transcriptions',
    columns: `${common}, 'transcription' as kind, null as provider,
      least(100, t.done_ms * 100 / t.duration_ms)::smallint as progress`,
    more: `t.transcription_order ->> 'prompt' as prompt, t.transcription_order as "order", t.prices, t.cost_micros as "costMicros", null::jsonb as upstream`,
    attempts: '0 as submits, 0 as refusals, null::timestamptz as "submittedAt", null::jsonb as decision',
    work: recordingWorkState(),
  },
}

const dayOf = (time: string) => `(${time}::timestamptz at time zone 'utc')::date`

/** The matching tasks of one kind, newest first. Absent conditions are left out of the SQL, so that indexes can be used. */
const selectionOf = (
  kind: keyof typeof kinds,
  filter: TaskFilter,
  place: (value: unknown) => string,
): string => {
  const { tasks, open, columns } = kinds[kind]
  const { accountId, keyId, model, provider, states, errorCode, from, to, after } = filter
  const conditions = ['true']
  if (accountId !== undefined) conditions.push(`t.account_id = ${place(accountId)}`)
  if (keyId !== undefined) conditions.push(`t.key_id = ${place(keyId)}`)
  if (model !== undefined) conditions.push(`t.model = ${place(model)}`)
  if (provider !== undefined) conditions.push(`t.provider = ${place(provider)}`)
  if (states !== undefined) conditions.push(`t.state = any(${place(states)}::text[])`)
  // Open and failed tasks are few and have their own indexes.
  const areAll = (...wanted: string[]) => states?.every((state) => wanted.includes(state)) === true
  if (areAll('pending', 'processing')) conditions.push(`t.id in (select task_id from ${open})`)
  if (areAll('failed') || errorCode !== undefined) conditions.push('t.error_code is not null')
  if (errorCode !== undefined) conditions.push(`t.error_code = ${place(errorCode)}`)
  // The day limits the scan to the matching partitions. It comes from the id, whose clock may differ from `created_at`.
  if (from !== undefined) {
    const time = place(from)
    conditions.push(`t.day >= ${dayOf(time)} - 1 and t.created_at >= ${time}`)
  }
  if (to !== undefined) {
    const time = place(to)
    conditions.push(`t.day <= ${dayOf(time)} + 1 and t.created_at < ${time}`)
  }
  if (after !== undefined) {
    const [microseconds, id] = after
    const time = `(${timeOf(place(microseconds))})`
    conditions.push(`t.day <= ${dayOf(time)} + 1 and (t.created_at, t.id) < (${time}, ${place(id)})`)
  }
  return `(select ${columns} from ${tasks} t where ${conditions.join(' and ')}
            order by t.created_at desc, t.id desc limit $1)`
}

export const searchTasks = async (database: Database, filter: TaskFilter): Promise<TaskRecord[]> => {
  const values: unknown[] = [filter.limit]
  const place = (value: unknown) => `$${values.push(value)}`
  const selections = [selectionOf('video', filter, place)]
  // The providers of a recording's segments are not recorded.
  if (filter.provider === undefined) selections.push(selectionOf('transcription', filter, place))
  const { rows } = await database.query<TaskRecord & Record<string, unknown>>(
    `select found.*, coalesce(v.stage, r.stage) as stage
       from (select * from (${selections.join(' union all ')}) both_kinds
              order by "createdAt" desc, id desc limit $1) found
       left join open_tasks v on v.task_id = found.id
       left join open_transcriptions r on r.task_id = found.id
      order by found."createdAt" desc, found.id desc`,
    values,
  )
  return rows
}

export interface TaskDetail extends TaskRecord {
  prompt: string | null
  order: Record<string, unknown>
  prices: Price[]
  /** Null while it is unknown. */
  costMicros: number | null
  upstream: unknown
  /** Null for a finished task. */
  runs: number | null
  submits: number | null
  refusals: number | null
  submittedAt: Date | null
  deadlineAt: Date | null
  decision: Decision | null
  /** How the work stands, or stood at the end; null for a task that ended before this was recorded. */
  work: WorkState | RecordingWorkState | null
  /** The time of the database when it was read. */
  readAt: Date
}

export const findAnyTask = async (
  database: Database,
  kind: TaskRecord['kind'],
  day: string,
  id: string,
): Promise<TaskDetail | undefined> => {
  const { tasks, open, columns, more, attempts, work } = kinds[kind]
  const { rows } = await database.query<TaskDetail & Record<string, unknown>>(
    `select ${columns}, ${more}, o.stage, o.run as runs, ${attempts}, o.deadline_at as "deadlineAt",
            case when o.task_id is null then t.end_state else ${work} end as work, clock_timestamp() as "readAt"
       from ${tasks} t left join ${open} o on o.task_id = t.id
      where t.day = $1 and t.id = $2`,
    [day, id],
  )
  return rows[0]
}

/** One submit of a task to a provider. */
export interface TaskAttempt {
  attempt: number
  provider: string
  upstreamModel: string
  decision: Decision | null
  outcome: string
  isDuplicate: boolean
  startedAt: Date
  endedAt: Date
  exchanges: Exchange[]
  failureReason: string | null
}

export const findAttempts = async (database: Database, day: string, id: string): Promise<TaskAttempt[]> => {
  const { rows } = await database.query<TaskAttempt & Record<string, unknown>>(
    `select attempt, provider, upstream_model as "upstreamModel", decision, outcome, is_duplicate as "isDuplicate",
            started_at as "startedAt", ended_at as "endedAt", exchanges, failure_reason as "failureReason"
       from task_attempts where day = $1 and task_id = $2 order by attempt`,
    [day, id],
  )
  return rows
}
