/** The record as the steps of runs read and change it. Steps that execute at the same time share statements and commits. */
import { batch, batchByRecord, fulfilled } from '../../platform/batch.ts'
import type { Run } from '../../platform/engine/run-key.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { Opaque, VideoProvider } from '../../providers/port/video.ts'
import { insertStoredFiles, type StoredFile } from '../../storage/stored-file-store.ts'
import { markProcessing } from '../../tasks/task-store.ts'
import {
  findCurrentRuns,
  findStoringRuns,
  findOtherJob,
  type CurrentRun,
  type StoringRun,
} from '../open-task-store.ts'
import { recordAttempts, type Attempt } from '../task-attempt-store.ts'
import { videoTables } from '../task.ts'
import { isSameJob } from './same-job.ts'
import {
  beginSubmits,
  recordSubmitted,
  type SubmitIntent,
  type SubmitRecord,
  type SubmittedJob,
} from './submit-store.ts'

/** A job that a provider accepted, and the attempt that created it, if it was not found later. */
interface AcceptedJob extends SubmittedJob {
  day: string
  upstream: Opaque
  video: VideoProvider
  attempt: Attempt | undefined
}

interface RecordedJob {
  record: SubmitRecord
  /** The task has another job already, or was given to another provider. */
  isDuplicate: boolean
}

export interface StepRecords {
  /** Undefined if the task has ended or a newer run has replaced this one; the step then has nothing to do. */
  findCurrentRun: (run: Run) => Promise<CurrentRun | undefined>
  /** Whether this execution may submit the task. */
  beginSubmit: (intent: SubmitIntent) => Promise<boolean>
  recordJob: (job: AcceptedJob) => Promise<RecordedJob>
  /** Like `findCurrentRun`. */
  findStoringRun: (run: Run) => Promise<StoringRun | undefined>
  addStoredFile: (file: StoredFile) => Promise<void>
}

const limits = { inFlightMax: 2, sizeMax: 100 }

/** Records jobs with their attempts, in one transaction. */
const recordJobs = (postgres: Postgres, jobs: AcceptedJob[]): Promise<Map<string, RecordedJob>> =>
  postgres.transaction(async (database) => {
    const records = await recordSubmitted(
      database,
      jobs.map(({ taskId, provider, upstream, firstPollMs }) => ({
        taskId,
        provider,
        upstream,
        firstPollMs,
      })),
    )
    const recorded = new Map<string, RecordedJob>()
    for (const { taskId, provider, upstream, video } of jobs) {
      const record = records.get(taskId) ?? 'not_recorded'
      const earlier = record === 'not_recorded' ? await findOtherJob(database, taskId, provider) : undefined
      const isDuplicate =
        earlier !== undefined &&
        (earlier.isElsewhere || !isSameJob(video, earlier.upstream as Opaque, upstream))
      recorded.set(taskId, { record, isDuplicate })
    }
    await markProcessing(
      database,
      videoTables,
      jobs.flatMap(({ taskId: id, day }) =>
        records.get(id) === 'claimed_by_other' || recorded.get(id)?.isDuplicate === true ? [] : { day, id },
      ),
    )
    await recordAttempts(
      database,
      jobs.flatMap(({ taskId, attempt }) =>
        attempt === undefined ? [] : { ...attempt, isDuplicate: recorded.get(taskId)?.isDuplicate ?? false },
      ),
    )
    return recorded
  })

export const createStepRecords = (postgres: Postgres): StepRecords => {
  const taskOf = ({ taskId }: { taskId: string }) => taskId
  const begin = batchByRecord(
    async (intents: SubmitIntent[]) => {
      const begun = await beginSubmits(postgres, intents)
      return new Map(intents.map(({ taskId }) => [taskId, begun.has(taskId)]))
    },
    taskOf,
    { ...limits, name: 'begin_submit' },
  )
  const recordJob = batchByRecord((jobs: AcceptedJob[]) => recordJobs(postgres, jobs), taskOf, {
    ...limits,
    name: 'record_job',
  })
  const addStoredFile = batch(
    async (files: StoredFile[]) => {
      await insertStoredFiles(postgres, files)
      return files.map(() => fulfilled(undefined))
    },
    { ...limits, name: 'stored_file' },
  )
  return {
    findCurrentRun: batchByRecord((runs: Run[]) => findCurrentRuns(postgres, runs), taskOf, {
      ...limits,
      name: 'current_run',
    }),
    beginSubmit: async (intent) => (await begin(intent)) === true,
    recordJob: async (job) => {
      const recorded = await recordJob(job)
      if (recorded === undefined) throw new Error(`the job of ${job.taskId} was not recorded`)
      return recorded
    },
    findStoringRun: batchByRecord((runs: Run[]) => findStoringRuns(postgres, runs), taskOf, {
      ...limits,
      name: 'storing_run',
    }),
    addStoredFile,
  }
}
