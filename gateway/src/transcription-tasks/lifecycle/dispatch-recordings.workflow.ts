/**
 * Starts accepted transcription tasks in the engine.
 *
 * Why durable: only one dispatcher may count the running tasks, and it must survive the loss of a worker. It serves the
 * outbox by durable sends, and removes what ended tasks left behind. A tick that executes again returns what it has
 * claimed before, and claims nothing more.
 */
import type { EngineLoop } from '../../platform/engine/anti-entropy.ts'
import { loop, type Ticked } from '../../platform/engine/restate.ts'
import { runKey } from '../../platform/engine/run-key.ts'
import type { Execution } from '../../platform/engine/running-steps.ts'
import { recordTick } from '../../platform/engine/tick-store.ts'
import type { Log } from '../../platform/log.ts'
import type { Postgres } from '../../platform/postgres.ts'
import type { MediaStore } from '../../storage/media-store.ts'
import { claimAccepted, findClaimed, nextStartInMs } from '../open-transcription-store.ts'
import { removeExpired } from './remove-expired.ts'
import { transcribeRecordingName } from './transcribe-recording.workflow.ts'

/** One loop for all tasks. */
export const dispatchRecordings: EngineLoop = { loop: 'dispatchRecordings', key: 'all' }

export interface DispatchDependencies {
  postgres: Postgres
  mediaStore: MediaStore
  log: Log
}

const concurrentTasks = 16
const idleMs = 15_000
const soonMs = 50

const dispatch = async (dependencies: DispatchDependencies, tickId: string): Promise<Ticked> => {
  const { postgres } = dependencies
  const { loop: name, key } = dispatchRecordings
  const claimed = await postgres.transaction(async (database) =>
    (await recordTick(database, name, key, tickId))
      ? claimAccepted(database, concurrentTasks, tickId)
      : findClaimed(database, tickId),
  )
  await removeExpired(dependencies)
  const nextMs = await nextStartInMs(postgres)
  return {
    nextMs: Math.min(idleMs, Math.max(soonMs, Math.ceil(nextMs ?? idleMs))),
    starts: claimed.map((run) => ({ workflow: transcribeRecordingName, key: runKey(run) })),
  }
}

export const dispatchRecordingsLoop = (dependencies: DispatchDependencies, execution: Execution) =>
  loop(dispatchRecordings.loop, execution, (_key, tickId) => dispatch(dependencies, tickId))
