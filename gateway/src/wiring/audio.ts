import { operations } from '@kinora/contract/operations'

import { createSpeech } from '../audio/create-speech.ts'
import { createTranscription } from '../audio/create-transcription.ts'
import { createTranslation } from '../audio/create-translation.ts'
import { createMeasureAudio } from '../audio/measure-audio.ts'
import { bindOperation, type ApiServer } from '../http/server/bind-operation.ts'
import type { ApiContext } from './api-context.ts'

export const bindAudio = (
  server: ApiServer,
  { config, catalog, router, prices, meter, programs }: ApiContext,
): void => {
  const audio = { catalog, router, prices, meter, requiresPayg: config.AUDIO_REQUIRES_PAYG }
  const measureAudio = createMeasureAudio({
    programs,
    secondsMax: config.AUDIO_SECONDS_MAX,
  })

  bindOperation(server, operations.createTranscription, createTranscription({ ...audio, measureAudio }))
  bindOperation(server, operations.createTranslation, createTranslation({ ...audio, measureAudio }))
  bindOperation(server, operations.createSpeech, createSpeech(audio))
}
