import type { operations } from '@kinora/contract/operations'
import { TranslationForm } from '@kinora/contract/operations/audio'

import type { Handler } from '../http/call.ts'
import {
  createTranscribe,
  formatFor,
  transcriptionModelFor,
  type TranscribeDependencies,
} from './transcribe.ts'

const endpoint = '/v1/audio/translations'

/** Transcribes speech in any language into English text. */
export const createTranslation = (
  dependencies: TranscribeDependencies,
): Handler<typeof operations.createTranslation> => {
  const transcribe = createTranscribe(dependencies)
  return async (call) => {
    const model = transcriptionModelFor(dependencies, call, endpoint)
    const form = call.read(TranslationForm)
    const answer = call.wantsQuote ? transcribe.quote : transcribe.whole
    return answer(call, {
      operation: 'createTranslation',
      task: 'translate',
      model,
      language: undefined,
      prompt: form.prompt,
      temperature: form.temperature ?? 0,
      format: formatFor(model, form.response_format, call),
      wantsWords: false,
    })
  }
}
