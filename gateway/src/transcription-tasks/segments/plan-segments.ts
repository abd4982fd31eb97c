/**
 * The first step of a run: plans where to cut the recording into segments. One execution plans at most an hour, so that
 * each step is short and a crash does not lose the progress.
 */
import { concurrencyLimitPerKey } from '../../platform/concurrency-limit.ts'
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { MediaStore } from '../../storage/media-store.ts'
import { isInvalidFileError } from '../../storage/sandbox.ts'
import { returnToQueue, beginStep } from '../open-transcription-store.ts'
import { findTranscription, markProcessing } from '../transcription-task-store.ts'
import { failed, type Ending, type TranscriptionTask } from '../transcription-task.ts'
import { whileCurrent } from '../while-current.ts'
import { silentTranscript } from './merge-transcripts.ts'
import { planCuts } from './plan-cuts.ts'
import type { ReadLevels } from './read-levels.ts'
import { insertSegments, readPlan } from './segment-store.ts'

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
): Promise<StepResult> => {
  const { count, endMs: startMs } = await readPlan(postgres, task.id)
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
  )
  return { kind: isLast ? 'done' : 'repeat' }
}

export const planSegments = async (
  dependencies: PlanDependencies,
  taskId: string,
  run: number,
): Promise<StepResult> => {
  const { postgres, log, wakeDispatcher } = dependencies
  const open = await beginStep(postgres, { taskId, run })
  const task = open && (await findTranscription(postgres, open.day, taskId))
  if (open === undefined || task === undefined || task.recordingKey === null) return { kind: 'stop' }
  if (open.isOverdue) return failed('task_timeout')
  await markProcessing(postgres, open.day, taskId)
  const { recordingKey } = task
  return whileCurrent(dependencies, { taskId, run }, async (signal) => {
    let release: () => void
    try {
      release = await acquireSlot('read', AbortSignal.any([signal, AbortSignal.timeout(slotTimeoutMs)]))
    } catch {
      // All slots of this worker are busy; another worker may have a free one.
      await returnToQueue(postgres, taskId, run, 0)
      wakeDispatcher()
      return { kind: 'stop' }
    }
    try {
      return await planStretch(dependencies, task, recordingKey)
    } catch (error) {
      log.warn({ err: error, taskId }, 'transcription.not-planned')
      if (isInvalidFileError(error)) return failed('invalid_parameter', 'The recording could not be decoded.')
      if ((error as NodeJS.ErrnoException).code === 'ENOENT')
        return failed('upstream_error', 'The recording is missing from storage.')
      throw error
    } finally {
      release()
    }
  })
}
