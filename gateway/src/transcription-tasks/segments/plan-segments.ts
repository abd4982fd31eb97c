/**
 * The first step of a run: plans where to cut the recording into segments. One execution plans at most an hour, so that
 * each step is short and a crash does not lose the progress.
 */
import { concurrencyLimitPerKey } from '../../platform/concurrency-limit.ts'
import type { Run } from '../../platform/engine/run-key.ts'
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import { MediaNotFound, type MediaStore } from '../../storage/port/media-store.ts'
import { isInvalidFileError } from '../../storage/sandbox.ts'
import { returnToQueue } from '../../tasks/queue-store.ts'
import { beginStep } from '../../tasks/run-store.ts'
import { markProcessing } from '../../tasks/task-store.ts'
import { whileCurrent } from '../../tasks/while-current.ts'
import { findTranscription } from '../transcription-task-store.ts'
import {
  checkEveryMs,
  failed,
  transcriptionTables as tables,
  type Ending,
  type TranscriptionTask,
} from '../transcription-task.ts'
import { silentTranscript } from './merge-transcripts.ts'
import { planCuts } from './plan-cuts.ts'
import type { ReadLevels } from './read-levels.ts'
import { insertSegments, readPlan, type Plan } from './segment-store.ts'

export interface PlanDependencies {
  postgres: Postgres
  mediaStore: MediaStore
  readLevels: ReadLevels
  log: Log
  wakeDispatcher: () => void
}

/** `stop`: the run ends without settling the task · `repeat`: run this step again · `done`: run the next step. */
export type StepResult = { kind: 'stop' } | { kind: 'repeat' } | { kind: 'done' } | Ending

const stretchMs = 3_600_000
/** The decoded length may differ slightly from the measured one, because decoding starts anew in each stretch. */
const toleranceMs = 1_000
/** A recording that is longer than the duration that is charged was made to avoid charges. */
const lengthMsMax = (durationMs: number) => 1.01 * durationMs + toleranceMs
const readersMax = 2
const slotTimeoutMs = 60_000

const acquireSlot = concurrencyLimitPerKey(readersMax)

const planStretch = async (
  { postgres, mediaStore, readLevels }: PlanDependencies,
  task: TranscriptionTask,
  recordingKey: string,
  { count, endMs: startMs }: Plan,
): Promise<StepResult> => {
  const { levels, lengthMs } = await mediaStore.withLocalPath(recordingKey, (path) =>
    readLevels(path, startMs, stretchMs),
  )
  const soundEndMs = startMs + lengthMs
  const isLast = lengthMs < stretchMs - toleranceMs
  const isLonger = soundEndMs > task.durationMs + toleranceMs
  const endMs = isLast && !isLonger ? task.durationMs : soundEndMs
  if (endMs > lengthMsMax(task.durationMs)) {
    return failed(
      'invalid_parameter',
      'The recording is longer than measured, because its timestamps are inconsistent. Convert it, for example: ffmpeg -i input -map 0:a:0 output.flac',
    )
  }
  const cuts = planCuts({ startMs, levels, endMs, isLast })
  await insertSegments(
    postgres,
    task,
    cuts.map(({ isSilent, ...cut }, index) => ({
      ...cut,
      n: count + index,
      transcript: isSilent ? silentTranscript(task.order.hasTimestamps) : null,
    })),
    isLast,
  )
  return { kind: isLast ? 'done' : 'repeat' }
}

export const planSegments = async (dependencies: PlanDependencies, run: Run): Promise<StepResult> => {
  const { postgres, log, wakeDispatcher } = dependencies
  const { taskId } = run
  const open = await beginStep(postgres, tables, run)
  const task = open && (await findTranscription(postgres, open.day, taskId))
  if (open === undefined || task === undefined || task.recordingKey === null) return { kind: 'stop' }
  if (open.isOverdue) return failed('task_timeout')
  const plan = await readPlan(postgres, taskId)
  if (plan.isComplete) return { kind: 'done' }
  await markProcessing(postgres, tables, [task])
  const { recordingKey } = task
  return whileCurrent({ postgres, log, tables }, run, { checkEveryMs }, async (signal) => {
    let release: () => void
    try {
      release = await acquireSlot('read', AbortSignal.any([signal, AbortSignal.timeout(slotTimeoutMs)]))
    } catch {
      // All slots of this worker are busy; another worker may have a free one.
      await returnToQueue(postgres, tables, run, 0)
      wakeDispatcher()
      return { kind: 'stop' }
    }
    try {
      return await planStretch(dependencies, task, recordingKey, plan)
    } catch (error) {
      log.warn({ err: error, taskId }, 'transcription.not-planned')
      if (isInvalidFileError(error)) return failed('invalid_parameter', 'The recording could not be decoded.')
      if (error instanceof MediaNotFound)
        return failed('upstream_error', 'The recording is missing from storage.')
      throw error
    } finally {
      release()
    }
  })
}
