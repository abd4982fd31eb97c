/**
 * The last step of a run: changes state and hold in one transaction by compare-and-set, so that a repeat has no effect.
 * Then it removes the recording; if that fails, the dispatcher removes it later.
 */
import { settleHold } from '../../billing/spending/spend.ts'
import type { Log } from '../../platform/log.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import type { MediaStore } from '../../storage/port/media-store.ts'
import { dayOfTranscription } from '../transcription-id.ts'
import { clearRecordingKey, findTranscription, finishTranscription } from '../transcription-task-store.ts'
import type { Ending } from '../transcription-task.ts'
import { measureEnd } from './measure-end.ts'

export interface SettleDependencies {
  postgres: Postgres
  mediaStore: MediaStore
  /** The current retention of an account's transcripts. */
  retentionMsOf: (accountId: string) => Promise<number>
  log: Log
  /** Called because another task can start. */
  wakeDispatcher: () => void
}

/** Ends a task, unless it has ended before. `alongside` runs in the same transaction. */
export const settleTranscription = async (
  { postgres, mediaStore, retentionMsOf, log, wakeDispatcher }: SettleDependencies,
  taskId: string,
  ending: Ending,
  alongside?: (database: Database) => Promise<void>,
): Promise<void> => {
  const day = dayOfTranscription(taskId)
  if (day === undefined) throw new Error(`${taskId} is not the id of a transcription task`)
  const open = await findTranscription(postgres, day, taskId)
  if (open === undefined) return
  const expiresAt = new Date(Date.now() + (await retentionMsOf(open.accountId)))
  const finished = await postgres.transaction(async (database) => {
    const task = await finishTranscription(database, day, taskId, ending, expiresAt)
    if (task === undefined) return undefined
    await settleHold(database, { ...task, taskId, day, captureMicros: task.capturedMicros })
    await alongside?.(database)
    return task
  })
  if (finished !== undefined) {
    const { accountId, model, capturedMicros, createdAt, finishedAt } = finished
    const seconds = (finishedAt.getTime() - createdAt.getTime()) / 1000
    const end = ending.kind === 'failed' ? { code: ending.code } : { chargedMicros: capturedMicros }
    log.info({ taskId, accountId, model, seconds, ...end }, `transcription.${ending.kind}`)
    measureEnd(finished, ending)
    wakeDispatcher()
  }
  if (open.recordingKey === null) return
  try {
    await mediaStore.remove(open.recordingKey)
    await clearRecordingKey(postgres, day, taskId)
  } catch (error) {
    log.warn({ err: error, taskId }, 'recording.not-removed')
  }
}
