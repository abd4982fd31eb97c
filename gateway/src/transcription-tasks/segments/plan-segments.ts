/**
 * The first step of a run: cuts the recording into pieces, an hour of it at a time, so that the step is short however
 * long the recording is and goes on where it was after a crash.
 */
import { concurrencyLimitPerKey } from '../../platform/concurrency-limit.ts'
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { MediaStore } from '../../storage/media-store.ts'
import { isVerdict } from '../../storage/sandbox.ts'
import { heartbeat } from '../heartbeat.ts'
import { returnToQueue, touchRun } from '../open-transcription-store.ts'
import { findTranscription, markProcessing } from '../transcription-task-store.ts'
import { failed, type Ending, type TranscriptionTask } from '../transcription-task.ts'
import { silentTranscript } from './merge-transcripts.ts'
import { planCuts } from './plan-cuts.ts'
import type { ReadLevels } from './read-levels.ts'
import { insertSegments, plannedUntilMs } from './segment-store.ts'

export interface PlanDependencies {
  postgres: Postgres
  mediaStore: MediaStore
  readLevels: ReadLevels
  log: Log
  wakeDispatcher: () => void
}

/** `over`: this run has nothing more to do · `more`: the step is to be done again · `done`: on to the next. */
export type Worked = { kind: 'over' } | { kind: 'more' } | { kind: 'done' } | Ending

const stretchMs = 3_600_000
/** Sound may end a little off what its packets add up to. */
const toleranceMs = 1_000
/** Where nothing was said, some recorders leave a gap. One that is nearly all gaps is meant to be had for less. */
const timelineMsMax = (durationMs: number) => 3 * durationMs + 60_000
const readersAtOnce = 2
const patienceMs = 60_000

const enter = concurrencyLimitPerKey(readersAtOnce)

const planStretch = async (
  { postgres, mediaStore, readLevels }: PlanDependencies,
  task: TranscriptionTask,
  recordingKey: string,
): Promise<Worked> => {
  const { segments, endMs: startMs } = await plannedUntilMs(postgres, task.id)
  const { levels, lengthMs } = await mediaStore.withLocalPath(recordingKey, (path) =>
    readLevels(path, startMs, stretchMs),
  )
  const soundEndMs = startMs + lengthMs
  const isLast = lengthMs < stretchMs - toleranceMs
  const isOff = soundEndMs > task.durationMs + toleranceMs
  const endMs = isLast && !isOff ? task.durationMs : soundEndMs
  if (endMs > timelineMsMax(task.durationMs))
    return failed('invalid_parameter', 'The recording has far more gaps than sound.')
  const cuts = planCuts({ startMs, levels, endMs, isLast })
  await insertSegments(
    postgres,
    task,
    cuts.map(({ isSilent, ...cut }, index) => ({
      ...cut,
      n: segments + index,
      transcript: isSilent ? silentTranscript(task.order.hasSegments) : null,
    })),
  )
  return { kind: isLast ? 'done' : 'more' }
}

export const planSegments = async (
  dependencies: PlanDependencies,
  taskId: string,
  run: number,
): Promise<Worked> => {
  const { postgres, log, wakeDispatcher } = dependencies
  const open = await touchRun(postgres, taskId, run)
  const task = open && (await findTranscription(postgres, open.day, taskId))
  if (open === undefined || task === undefined || task.recordingKey === null) return { kind: 'over' }
  if (open.isOverdue) return failed('task_timeout')
  await markProcessing(postgres, open.day, taskId)
  const { recordingKey } = task
  return heartbeat(dependencies, taskId, run, async (signal) => {
    let leave: () => void
    try {
      leave = await enter('read', AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]))
    } catch {
      // Others have this worker's readers for long; the next worker may have one free.
      await returnToQueue(postgres, taskId, run, 0)
      wakeDispatcher()
      return { kind: 'over' }
    }
    try {
      return await planStretch(dependencies, task, recordingKey)
    } catch (error) {
      log.warn({ err: error, taskId }, 'transcription.not-planned')
      if (isVerdict(error)) return failed('invalid_parameter', 'The recording could not be decoded.')
      if ((error as NodeJS.ErrnoException).code === 'ENOENT')
        return failed('upstream_error', 'The recording was lost.')
      throw error
    } finally {
      leave()
    }
  })
}
