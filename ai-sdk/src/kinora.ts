/** The Kinora provider for the AI SDK. */
import {
  NoSuchModelError,
  type Experimental_StreamingSpeechModelV4 as StreamingSpeechModelV4,
  type Experimental_VideoModelV4 as VideoModelV4,
  type ProviderV4,
  type TranscriptionModelV4,
} from '@ai-sdk/provider'

import { createSpeechModel } from './audio/speech-model.ts'
import { createTranscriptionModel } from './audio/transcription-model.ts'
import { createConnection, type KinoraProviderSettings } from './connection.ts'
import { createReadModelFacts } from './model-facts.ts'
import type { KinoraSpeechModelId, KinoraTranscriptionModelId, KinoraVideoModelId } from './model-ids.ts'
import { createVideoModel } from './video/video-model.ts'

export type { KinoraProviderSettings } from './connection.ts'
export type { KinoraSpeechModelId, KinoraTranscriptionModelId, KinoraVideoModelId } from './model-ids.ts'
export type { KinoraSpeechOptions } from './audio/speech-options.ts'
export type { KinoraTranscriptionOptions } from './audio/transcription-options.ts'
export type { KinoraVideoOptions } from './video/video-options.ts'

export interface KinoraProvider extends ProviderV4 {
  video: (modelId: KinoraVideoModelId) => VideoModelV4
  videoModel: (modelId: KinoraVideoModelId) => VideoModelV4
  speech: (modelId: KinoraSpeechModelId) => StreamingSpeechModelV4
  speechModel: (modelId: KinoraSpeechModelId) => StreamingSpeechModelV4
  transcription: (modelId: KinoraTranscriptionModelId) => TranscriptionModelV4
  transcriptionModel: (modelId: KinoraTranscriptionModelId) => TranscriptionModelV4
}

const refuse =
  (modelType: 'languageModel' | 'embeddingModel' | 'imageModel', advice: string) => (modelId: string) => {
    throw new NoSuchModelError({
      modelId,
      modelType,
      message: `@kinora/ai-sdk has video, speech and transcription models. ${advice}`,
    })
  }

export const createKinora = (settings: KinoraProviderSettings = {}): KinoraProvider => {
  const connection = createConnection(settings)
  const { videoResult = 'auto' } = settings
  const parts = { connection, readModelFacts: createReadModelFacts(connection), videoResult }
  const video = (modelId: KinoraVideoModelId) => createVideoModel(modelId, parts)
  const speech = (modelId: KinoraSpeechModelId) => createSpeechModel(modelId, parts)
  const transcription = (modelId: KinoraTranscriptionModelId) => createTranscriptionModel(modelId, parts)
  return {
    specificationVersion: 'v4',
    ...{ video, videoModel: video, speech, speechModel: speech },
    ...{ transcription, transcriptionModel: transcription },
    languageModel: refuse(
      'languageModel',
      'For chat use @ai-sdk/openai-compatible with the base URL of the service and /openai/v1.',
    ),
    embeddingModel: refuse('embeddingModel', 'Kinora makes no embeddings.'),
    imageModel: refuse('imageModel', 'Kinora makes no images.'),
  }
}

/** The provider with its settings from the environment. */
export const kinora = createKinora()
