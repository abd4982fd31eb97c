/**
 * Starts accepted transcription tasks in the engine.
 *
 * Why durable: only one dispatcher may count the running tasks, and it must survive the loss of a worker. It serves the
 * outbox and reconciles: it starts accepted tasks, restarts stalled ones, and removes what ended tasks left behind.
 */
import type { SupervisedLoop } from '../../platform/engine/engine-supervisor.ts'
import { recordTick } from '../../platform/engine/engine-tick-store.ts'
import { loop, type Engine } from '../../platform/engine/restate.ts'
import { runKey } from '../../platform/engine/run-key.ts'
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { MediaStore } from '../../storage/media-store.ts'
import { nextStartInMs, restartStalled, claimAccepted, type Start } from '../open-transcription-store.ts'
import { removeExpired } from './remove-expired.ts'
import { transcribeRecordingName } from './transcribe-recording.workflow.ts'

/** One loop for all tasks. */
export const dispatchRecordings: SupervisedLoop = { loop: 'dispatchRecordings', key: 'all' }

export interface DispatchDependencies {
  postgres: Postgres
  mediaStore: MediaStore
  engine: Engine
  log: Log
}

const concurrentTasks = 16
const restartedPerTick = 100
const idleMs = 15_000
const soonMs = 50

const dispatch = async (dependencies: DispatchDependencies): Promise<number> => {
  const { postgres, engine, log } = dependencies
  await recordTick(postgres, dispatchRecordings.loop, dispatchRecordings.key)
  const stalled = await restartStalled(postgres, restartedPerTick)
  if (stalled.length > 0) log.warn({ count: stalled.length }, 'transcription.restarted')
  const accepted = await claimAccepted(postgres, concurrentTasks)
  const start = ({ taskId, run }: Start) => engine.start(transcribeRecordingName, runKey(taskId, run))
  // A start that fails is repeated when its task counts as stalled.
  const starts = await Promise.allSettled([...stalled, ...accepted].map(start))
  const missed = starts.filter(({ status }) => status === 'rejected').length
  if (missed > 0) log.warn({ missed }, 'transcription.not-started')
  await removeExpired(dependencies)
  const nextMs = await nextStartInMs(postgres)
  return Math.min(idleMs, Math.max(soonMs, Math.ceil(nextMs ?? idleMs)))
}

export const dispatchRecordingsLoop = (dependencies: DispatchDependencies, suspendAfterMs: number) =>
  loop(dispatchRecordings.loop, suspendAfterMs, () => dispatch(dependencies))
