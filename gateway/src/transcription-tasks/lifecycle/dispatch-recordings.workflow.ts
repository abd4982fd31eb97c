import type { SupervisedLoop } from '../../platform/engine/engine-supervisor.ts'
/**
 * Hands accepted transcription tasks to the engine.
 *
 * Why durable: exactly one of these may count how many are under way, and it must survive any worker. It is outbox
 * and reconciler in one: what was accepted and never started is started, what the engine lost is started again, and
 * what an ended task left behind is cleared away.
 */
import { noteTick } from '../../platform/engine/engine-tick-store.ts'
import { loop, type Engine } from '../../platform/engine/restate.ts'
import { runKey } from '../../platform/engine/run-key.ts'
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { MediaStore } from '../../storage/media-store.ts'
import { nextStartInMs, requeueStalled, claimAccepted, type Start } from '../open-transcription-store.ts'
import { clearAway } from './remove-expired.ts'
import { transcribeRecordingName } from './transcribe-recording.workflow.ts'

/** There is one for all. */
export const dispatchRecordings: SupervisedLoop = { loop: 'dispatchRecordings', key: 'all' }

export interface DispatchDependencies {
  postgres: Postgres
  mediaStore: MediaStore
  engine: Engine
  log: Log
}

const tasksAtOnce = 16
const requeuedPerTick = 100
const idleMs = 15_000
const soonMs = 50

const dispatch = async (dependencies: DispatchDependencies): Promise<number> => {
  const { postgres, engine, log } = dependencies
  await noteTick(postgres, dispatchRecordings.loop, dispatchRecordings.key)
  const lost = await requeueStalled(postgres, requeuedPerTick)
  if (lost.length > 0) log.warn({ count: lost.length }, 'transcription.restarted')
  const accepted = await claimAccepted(postgres, tasksAtOnce)
  const start = ({ taskId, run }: Start) => engine.start(transcribeRecordingName, runKey(taskId, run))
  // A start that did not arrive is repeated once the task has been silent for a while.
  const starts = await Promise.allSettled([...lost, ...accepted].map(start))
  const missed = starts.filter(({ status }) => status === 'rejected').length
  if (missed > 0) log.warn({ missed }, 'transcription.not-started')
  await clearAway(dependencies)
  const nextMs = await nextStartInMs(postgres)
  return Math.min(idleMs, Math.max(soonMs, Math.ceil(nextMs ?? idleMs)))
}

export const dispatchRecordingsLoop = (dependencies: DispatchDependencies, suspendAfterMs: number) =>
  loop(dispatchRecordings.loop, suspendAfterMs, () => dispatch(dependencies))
