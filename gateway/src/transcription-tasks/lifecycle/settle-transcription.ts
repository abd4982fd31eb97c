/**
 * The last step of a run: status and money change together, by compare-and-set, so they change once however often
 * this runs. The recording goes afterwards; where that fails, the dispatcher finds it.
 */
import { settleHold } from '../../billing/spending/spend.ts'
import type { Log } from '../../platform/log.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import type { MediaStore } from '../../storage/media-store.ts'
import { dayOfTranscription } from '../transcription-id.ts'
import { finishTranscription, forgetRecording } from '../transcription-task-store.ts'
import type { Ending } from '../transcription-task.ts'
import { recordingKeyOf } from './admit-recording.ts'

export interface SettleDependencies {
  postgres: Postgres
  mediaStore: MediaStore
  /** How long transcripts are kept at the moment; an account's own term is applied by retention. */
  retentionMs: () => number
  log: Log
  /** Its place is free for another task. */
  wakeDispatcher: () => void
}

/** Ends a task, unless it had ended before; what is to be written alongside is written with its end. */
export const settleTranscription = async (
  { postgres, mediaStore, retentionMs, log, wakeDispatcher }: SettleDependencies,
  taskId: string,
  ending: Ending,
  alongside?: (database: Database) => Promise<void>,
): Promise<void> => {
  const day = dayOfTranscription(taskId)
  if (day === undefined) throw new Error(`${taskId} is no id of a transcription task`)
  const expiresAt = new Date(Date.now() + retentionMs())
  const finished = await postgres.transaction(async (database) => {
    const task = await finishTranscription(database, day, taskId, ending, expiresAt)
    if (task === undefined) return undefined
    await settleHold(database, { ...task, taskId, day, captureMicros: task.capturedMicros })
    await alongside?.(database)
    return task
  })
  if (finished !== undefined) {
    const { accountId, model } = finished
    const code = ending.kind === 'failed' ? ending.code : undefined
    log.info({ taskId, accountId, model, code }, `transcription.${ending.kind}`)
    wakeDispatcher()
  }
  try {
    await mediaStore.remove(recordingKeyOf(day, taskId))
    await forgetRecording(postgres, day, taskId)
  } catch (error) {
    log.warn({ err: error, taskId }, 'transcription.not-removed')
  }
}
