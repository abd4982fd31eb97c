/** Numbers of open tasks, for metrics. */
import type { Database } from '../platform/postgres.ts'

export interface TaskReading {
  /** Undefined for transcription tasks, which have one queue for all providers. */
  provider?: string
  stage: 'accepted' | 'starting' | 'submitting' | 'waiting' | 'storing' | 'working'
  tasks: number
  oldestSeconds: number
  pastDeadline: number
}

export interface VideoReading extends TaskReading {
  provider: string
  pollsOverdue: number
  pollLateSeconds: number
  submitsUnknown: number
}

const oldestSeconds = `extract(epoch from now() - min(accepted_at))::double precision as "oldestSeconds"`
/** A result that came just before the deadline has some time to be stored. */
const pastDeadline = `count(*) filter (where deadline_at < now() - interval '3 minutes') as "pastDeadline"`

export const readVideoTasks = async (database: Database): Promise<VideoReading[]> => {
  const { rows } = await database.query<VideoReading & Record<string, unknown>>(
    `select provider, stage, count(*) as tasks, ${oldestSeconds}, ${pastDeadline},
            count(*) filter (where stage = 'waiting' and next_poll_at < now() - interval '10 seconds') as "pollsOverdue",
            greatest(0, extract(epoch from now() - min(next_poll_at) filter (where stage = 'waiting')))::double precision
              as "pollLateSeconds",
            count(*) filter (where outcome_unknown_since is not null) as "submitsUnknown"
       from open_tasks group by provider, stage`,
  )
  return rows
}

export const readTranscriptions = async (database: Database): Promise<TaskReading[]> => {
  const { rows } = await database.query<TaskReading & Record<string, unknown>>(
    `select stage, count(*) as tasks, ${oldestSeconds}, ${pastDeadline} from open_transcriptions group by stage`,
  )
  return rows
}

/** Removals that were requested and not done yet. */
export const countRemovals = async (database: Database): Promise<{ files: number; jobs: number }> => {
  const { rows } = await database.query<{ files: number; jobs: number }>(
    `select (select count(*) from file_removals) as files, (select count(*) from job_removals) as jobs`,
  )
  return rows[0] ?? { files: 0, jobs: 0 }
}
