/**
 * The admission of a recording: price, hold and task in one transaction. The file is in its place before the task is,
 * so that no task is ever without its recording. The answer goes out after the commit; the engine is only nudged.
 */
import { priceOf } from '../billing/price.ts'
import { placeHolds, purseOf } from '../billing/spend.ts'
import type { Caller } from '../keys/caller.ts'
import type { TranscriptionModel } from '../models/model.ts'
import type { Postgres } from '../platform/postgres.ts'
import type { MediaStore } from '../storage/media-store.ts'
import { createTranscriptionId } from './transcription-id.ts'
import { insertTranscription } from './transcription-task-store.ts'
import type { TranscriptionOrder, TranscriptionTask } from './transcription-task.ts'

interface Admission {
  caller: Caller
  model: TranscriptionModel
  order: TranscriptionOrder
  /** A file on this machine that is taken over. */
  path: string
  durationSeconds: number
}

export type AcceptRecording = (admission: Admission) => Promise<TranscriptionTask>

export interface AcceptDependencies {
  postgres: Postgres
  mediaStore: MediaStore
  /** What a task has beside the time its recording plays, twice. */
  deadlineMs: number
  nudgeDispatcher: () => void
}

export const recordingKeyOf = (day: string, taskId: string): string => `recordings/${day}/${taskId}`

export const createAcceptRecording =
  ({ postgres, mediaStore, deadlineMs, nudgeDispatcher }: AcceptDependencies): AcceptRecording =>
  async ({ caller, model, order, path, durationSeconds }) => {
    const createdAt = new Date()
    const id = createTranscriptionId(createdAt.getTime())
    const day = createdAt.toISOString().slice(0, 10)
    const price = priceOf('minute', model.pricePerMinuteMicros, durationSeconds)
    const durationMs = Math.ceil(durationSeconds * 1000)
    const task: TranscriptionTask = {
      id,
      day,
      accountId: caller.accountId,
      keyId: caller.keyId,
      model: model.id,
      state: 'pending',
      order,
      durationMs,
      doneMs: 0,
      purse: purseOf(caller),
      price,
      holdMicros: price.totalMicros,
      errorCode: null,
      errorMessage: null,
      recordingKey: recordingKeyOf(day, id),
      createdAt,
      finishedAt: null,
      expiresAt: null,
      hasTranscript: false,
    }
    await mediaStore.adopt(recordingKeyOf(day, id), path)
    try {
      await postgres.transaction(async (database) => {
        const hold = { caller, taskId: id, day, amountMicros: task.holdMicros }
        const [refusal] = await placeHolds(database, [hold])
        if (refusal !== undefined) throw refusal
        await insertTranscription(database, task, new Date(createdAt.getTime() + deadlineMs + 2 * durationMs))
      })
    } catch (error) {
      await mediaStore.remove(recordingKeyOf(day, id))
      throw error
    }
    nudgeDispatcher()
    return task
  }
