/**
 * The admission of a recording: price, hold and task in one transaction. The file is stored before the task, so that no
 * task is without its recording. The response follows the commit and does not wait for the engine.
 */
import { ApiError } from '@kinora/contract/errors'
import type { Quote } from '@kinora/contract/operations/account'

import type { Caller } from '../../auth/caller.ts'
import type { PriceList } from '../../billing/prices/price-list.ts'
import { formatQuantity, totalOf } from '../../billing/prices/price.ts'
import { quoteOf } from '../../billing/spending/quote.ts'
import { placeHolds, walletOf } from '../../billing/spending/spend.ts'
import type { StoreResponses, ResponseToStore } from '../../http/call.ts'
import type { TranscriptionModel } from '../../models/model.ts'
import { count } from '../../platform/metrics/metrics.ts'
import { CommitOutcomeUnknown } from '../../platform/postgres-errors.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import { refusalOfStop, refusalOfWait } from '../../routing/queue-overload.ts'
import type { QueueWait } from '../../routing/queue-wait.ts'
import type { Router } from '../../routing/route.ts'
import type { MediaStore } from '../../storage/port/media-store.ts'
import type { RequestedWebhook, TaskWebhooks } from '../../tasks/requested-webhook.ts'
import type { TaskWebhook } from '../../tasks/task.ts'
import { recordingQueue } from '../recording-queue-store.ts'
import { createTranscriptionId, dayOfTranscription, transcriptionIdAt } from '../transcription-id.ts'
import { findTranscription, insertTranscription } from '../transcription-task-store.ts'
import type { TranscriptionOrder, TranscriptionTask } from '../transcription-task.ts'

interface Admission {
  caller: Caller
  model: TranscriptionModel
  order: TranscriptionOrder
  /** A local file that is moved to the media store. */
  path: string
  durationSeconds: number
  webhook: RequestedWebhook | undefined
  /** The response to store for idempotent replays; undefined if the request cannot be replayed. */
  responseToStore: (task: TranscriptionTask) => ResponseToStore | undefined
}

export interface AdmitRecording {
  (admission: Admission): Promise<TranscriptionTask>
  /** The refusal if a task of this account, or of this model, could not start in time; for checks before expensive steps. */
  overloadOf: (accountId: string, model?: Pick<TranscriptionModel, 'id' | 'name'>) => ApiError | undefined
  /** The price, and whether the recording would be admitted. */
  quote: (admission: Omit<Admission, 'path' | 'webhook' | 'responseToStore'>) => Promise<Quote>
}

export interface AdmitDependencies {
  postgres: Postgres
  mediaStore: MediaStore
  prices: PriceList
  /** The deadline of a task is this time plus twice the duration of its recording. */
  deadlineMs: number
  router: Pick<Router, 'routesOf' | 'stopAt'>
  queueWait: QueueWait
  /** How long a task may be expected to wait in the queue. */
  waitMsMax: number
  wakeDispatcher: () => void
  assignWebhooks: TaskWebhooks['assign']
  storeResponses: StoreResponses
}

export const createAdmitRecording = (dependencies: AdmitDependencies): AdmitRecording => {
  const { postgres, mediaStore, prices, deadlineMs, storeResponses } = dependencies
  const { router, queueWait, waitMsMax, wakeDispatcher, assignWebhooks } = dependencies
  const pricesFor = ({ model, durationSeconds }: Pick<Admission, 'model' | 'durationSeconds'>) =>
    prices.pricesOf(model)({ counted: { minute: durationSeconds } })
  const assignWebhook = async (
    database: Database,
    accountId: string,
    webhook: RequestedWebhook | undefined,
  ): Promise<TaskWebhook | undefined> => {
    const [assigned] = await assignWebhooks(database, webhook === undefined ? [] : [{ accountId, webhook }])
    if (assigned instanceof ApiError) throw assigned
    return assigned
  }
  const admitRecording: AdmitRecording = async (admission) => {
    const { caller, model, order, path, durationSeconds } = admission
    const storedAt = new Date()
    // The file is stored before the database's clock determines the time in the task's id, so its name is another id.
    const fileId = createTranscriptionId(storedAt.getTime())
    const recordingKey = `recordings/${storedAt.toISOString().slice(0, 10)}/${fileId}`
    const taskAt = (atMs: number) => {
      const id = transcriptionIdAt(fileId, atMs)
      return { id, day: dayOfTranscription(id) ?? '' }
    }
    const lines = pricesFor(admission)
    const durationMs = Math.ceil(durationSeconds * 1000)
    let task: TranscriptionTask = {
      ...taskAt(storedAt.getTime()),
      accountId: caller.accountId,
      keyId: caller.keyId,
      model: model.id,
      modelName: model.name,
      state: 'pending',
      order,
      durationMs,
      doneMs: 0,
      wallet: walletOf(caller),
      prices: lines,
      holdMicros: totalOf(lines),
      errorCode: null,
      errorMessage: null,
      recordingKey,
      createdAt: storedAt,
      finishedAt: null,
      expiresAt: null,
      hasTranscript: false,
    }
    await mediaStore.adopt(recordingKey, path)
    try {
      await postgres.transaction(async (database) => {
        const webhook = await assignWebhook(database, caller.accountId, admission.webhook)
        const hold = { caller, taskAt, amountMicros: task.holdMicros }
        const { refusals, at, atMs } = await placeHolds(database, [hold])
        if (refusals[0] !== undefined) throw refusals[0]
        task = { ...task, ...taskAt(atMs), createdAt: new Date(atMs), webhook }
        await insertTranscription(database, task, new Date(atMs + deadlineMs + 2 * durationMs), at)
        const response = admission.responseToStore(task)
        if (response !== undefined) await storeResponses(database, [response])
      })
    } catch (error) {
      if (!(error instanceof CommitOutcomeUnknown)) {
        await mediaStore.remove(recordingKey)
        throw error
      }
      // Even if the task is not found, its commit may still succeed, so the file stays. Retention removes files that no
      // task owns.
      const committed = await findTranscription(postgres, task.day, task.id).catch(() => undefined)
      if (committed === undefined) throw error
    }
    count('kinora.tasks.accepted', { kind: 'transcription', model: task.model })
    queueWait.add(recordingQueue.queue, recordingQueue.model, caller.accountId)
    wakeDispatcher()
    return task
  }
  admitRecording.overloadOf = (accountId, model) => {
    const routes = model === undefined ? [] : router.routesOf(model.id, 'transcription')
    const isStopped = routes.length > 0 && routes.every(({ provider }) => router.stopAt(provider.name))
    if (model !== undefined && isStopped) return refusalOfStop(model.name)
    return refusalOfWait(
      queueWait.waitMs(recordingQueue, accountId, undefined),
      waitMsMax,
      'Transcription tasks are currently',
    )
  }
  admitRecording.quote = (admission) => {
    const { caller, model, order, durationSeconds } = admission
    const parameters = { ...order, seconds: formatQuantity(durationSeconds) }
    return quoteOf(
      postgres,
      { caller, model: model.name, heldFor: pricesFor(admission), parameters },
      async () => admitRecording.overloadOf(caller.accountId, model),
    )
  }
  return admitRecording
}
