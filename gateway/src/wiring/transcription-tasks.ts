import { operations } from '@kinora/contract/operations'

import { createMeasureAudio } from '../audio/measure-audio.ts'
import { bindOperation, type ApiServer } from '../http/server/bind-operation.ts'
import { storeResponses } from '../idempotency/idempotency-store.ts'
import { retainedTranscriptions } from '../retention/retained-transcriptions.ts'
import { createQueueWait } from '../routing/queue-wait.ts'
import {
  createTranscriptionTask,
  recordingSecondsMax,
} from '../transcription-tasks/api/create-transcription-task.ts'
import { deleteTranscriptionTask } from '../transcription-tasks/api/delete-transcription-task.ts'
import { getTranscript } from '../transcription-tasks/api/get-transcript.ts'
import { getTranscriptionTask } from '../transcription-tasks/api/get-transcription-task.ts'
import { listTranscriptionTasks } from '../transcription-tasks/api/list-transcription-tasks.ts'
import { createAdmitRecording } from '../transcription-tasks/lifecycle/admit-recording.ts'
import { dispatchRecordings } from '../transcription-tasks/lifecycle/dispatch-recordings.ts'
import type { SettleDependencies } from '../transcription-tasks/lifecycle/settle-transcription.ts'
import { readRecordingQueue } from '../transcription-tasks/recording-queue-store.ts'
import type { ApiContext } from './api-context.ts'
import { queueWaitMsMax, retentionMsOf } from './connect.ts'
import { createTaskWebhooks } from './task-webhooks.ts'

/** Binds the operations of transcription tasks; also returns how an operator's request settles one. */
export const bindTranscriptionTasks = (
  server: ApiServer,
  { config, postgres, mediaStore, programs, catalog, router, prices, meter, days, wake, log }: ApiContext,
): SettleDependencies => {
  const database = postgres
  const settlement = {
    ...{ postgres, mediaStore, log },
    retentionMsOf: retentionMsOf(postgres, days),
    wakeDispatcher: wake.recordingDispatcher,
  }
  const webhooks = createTaskWebhooks(config)
  const retained = retainedTranscriptions(postgres, days)
  const creation = {
    ...{ catalog, router, prices, meter, requiresPayg: config.AUDIO_REQUIRES_PAYG },
    readWebhook: webhooks.read,
    measureAudio: createMeasureAudio({
      programs,
      secondsMax: recordingSecondsMax,
      adviceForLonger: 'Split it.',
    }),
    admitRecording: createAdmitRecording({
      ...settlement,
      router,
      prices,
      assignWebhooks: webhooks.assign,
      storeResponses,
      deadlineMs: config.TASK_DEADLINE_SECONDS * 1000,
      queueWait: createQueueWait({
        read: () => readRecordingQueue(postgres, dispatchRecordings),
        isPaused: () => false,
        log,
      }),
      waitMsMax: queueWaitMsMax(config),
    }),
  }

  bindOperation(
    server,
    operations.createTranscriptionTask,
    createTranscriptionTask(creation),
    ({ accountId }) => creation.admitRecording.overloadOf(accountId),
  )
  bindOperation(
    server,
    operations.listTranscriptionTasks,
    listTranscriptionTasks({ postgres: database, retainedSince: retained.since }),
  )
  bindOperation(server, operations.getTranscriptionTask, retained.one(getTranscriptionTask({ database })))
  bindOperation(server, operations.getTranscript, retained.one(getTranscript({ database })))
  bindOperation(server, operations.deleteTranscriptionTask, retained.one(deleteTranscriptionTask(settlement)))
  return settlement
}
