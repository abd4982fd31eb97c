import { operations } from '@kinora/contract/operations'

import { createSpeech } from '../audio/create-speech.ts'
import { createTranscription } from '../audio/create-transcription.ts'
import { createTranslation } from '../audio/create-translation.ts'
import { getVoiceSample } from '../audio/get-voice-sample.ts'
import { listVoices } from '../audio/list-voices.ts'
import { createMeasureAudio } from '../audio/measure-audio.ts'
import { createVoiceLinks, createVoiceSamples } from '../audio/voice-sample.ts'
import { bindOperation, type ApiServer } from '../http/server/bind-operation.ts'
import type { ModelEngines } from '../models/present-model.ts'
import { createCompareDurations } from '../routing/compare-durations.ts'
import type { ApiContext } from './api-context.ts'

export const bindAudio = (server: ApiServer, context: ApiContext, engines: ModelEngines): void => {
  const { config, catalog, router, prices, meter, programs, mediaStore, postgres, log } = context
  const audio = { catalog, router, prices, meter, requiresPayg: config.AUDIO_REQUIRES_PAYG }
  const measureAudio = createMeasureAudio({
    programs,
    secondsMax: config.AUDIO_SECONDS_MAX,
  })

  const compareDurations = createCompareDurations({ database: postgres, log })
  const transcription = { ...audio, measureAudio, compareDurations }

  bindOperation(server, operations.createTranscription, createTranscription(transcription))
  bindOperation(server, operations.createTranslation, createTranslation(transcription))
  bindOperation(server, operations.createSpeech, createSpeech(audio))

  const links = createVoiceLinks(context.links, config.publicUrl)
  const readVoiceSample = createVoiceSamples({ router, engines, mediaStore, log })
  bindOperation(server, operations.listVoices, listVoices({ catalog, links }))
  bindOperation(server, operations.getVoiceSample, getVoiceSample({ catalog, links, readVoiceSample }))
}
