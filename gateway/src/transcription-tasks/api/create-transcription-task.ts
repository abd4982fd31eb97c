import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'
import { TranscriptionTaskForm } from '@kinora/contract/operations/transcription-tasks'

import { uploadedFile } from '../../audio/audio-file.ts'
import { readLanguage } from '../../audio/languages.ts'
import type { MeasureAudio } from '../../audio/measure-audio.ts'
import { transcriptionModelFor } from '../../audio/transcribe.ts'
import type { Handler } from '../../http/call.ts'
import { readMetadata } from '../../metadata/read-metadata.ts'
import type { Catalog } from '../../models/catalog.ts'
import { deprecationHeaders } from '../../models/deprecation.ts'
import type { TaskWebhooks } from '../../tasks/requested-webhook.ts'
import type { AdmitRecording } from '../lifecycle/admit-recording.ts'
import type { TranscriptionOrder, TranscriptionTask } from '../transcription-task.ts'
import { presentTranscriptionTask } from './present-transcription-task.ts'

/** The maximum duration of a recording. */
export const recordingSecondsMax = 86_400

const endpoint = '/v1/audio/transcription-tasks'
const translations = '/v1/audio/translations'

export interface CreateTranscriptionTaskDependencies {
  catalog: Catalog
  measureAudio: MeasureAudio
  admitRecording: AdmitRecording
  readWebhook: TaskWebhooks['read']
  /** Whether subscription keys are refused. */
  requiresPayg: boolean
}

export const createTranscriptionTask =
  (dependencies: CreateTranscriptionTaskDependencies): Handler<typeof operations.createTranscriptionTask> =>
  async (call) => {
    const { measureAudio, admitRecording, readWebhook } = dependencies
    const { caller, fields } = call
    const model = transcriptionModelFor(dependencies, call, endpoint)
    const form = call.read(TranscriptionTaskForm)
    const webhook = readWebhook('transcription_task', form.webhook_url, fields)
    const task = form.task === 'translate' ? 'translate' : 'transcribe'
    if (task === 'translate' && !model.endpoints.includes(translations)) {
      throw new ApiError('invalid_parameter', {
        param: 'task',
        message: `'${model.name}' does not support translation.`,
      })
    }
    const metadata = readMetadata(fields.value('metadata'))
    const order: TranscriptionOrder = {
      task,
      ...(form.language !== undefined && { language: readLanguage(form.language) }),
      ...(form.prompt !== undefined && { prompt: form.prompt }),
      temperature: form.temperature ?? 0,
      hasTimestamps: model.hasTimestamps,
      ...(metadata !== undefined && { metadata }),
    }
    const { path } = uploadedFile(fields, 'file')
    const overload = call.wantsQuote ? undefined : admitRecording.overloadOf(caller.accountId, model)
    if (overload !== undefined) throw overload
    const { durationSeconds } = await measureAudio(path, 'file', call.mediaWork)
    const admission = { caller, model, order, durationSeconds }
    const headers = deprecationHeaders(model, call)
    if (call.wantsQuote) return { headers, body: await admitRecording.quote(admission) }
    const responseOf = (accepted: TranscriptionTask) => ({
      headers,
      body: presentTranscriptionTask(accepted),
    })
    const responseToStore = (accepted: TranscriptionTask) =>
      call.responseToStore(accepted.id, responseOf(accepted))
    return responseOf(await admitRecording({ ...admission, webhook, path, responseToStore }))
  }
