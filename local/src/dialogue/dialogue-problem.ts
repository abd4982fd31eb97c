import { InferenceBusy, InferenceFailure } from '../inference/inference.ts'
import { InvalidSpeech } from '../speech/speech-order.ts'
import { SpeechUnavailable } from '../speech/speech.ts'
import { DialogueRefusal } from './dialogue-refusal.ts'

export interface DialogueProblem {
  status: number
  code: string
  message: string
  param?: string
}

/** The error response for a failure. */
export function problemOf(error: unknown): DialogueProblem {
  if (error instanceof DialogueRefusal) {
    const { status, code, message, param } = error
    return { status, code, message, ...(param === undefined ? {} : { param }) }
  }
  if (error instanceof InvalidSpeech) {
    const param = error.code === 'voice_not_supported' ? 'audio.voice' : 'messages'
    return { status: 400, code: error.code, message: error.message, param }
  }
  if (error instanceof InferenceFailure && error.code !== undefined) {
    return { status: 400, code: error.code, message: error.message, param: 'messages' }
  }
  if (error instanceof InferenceBusy) return { status: 503, code: 'busy', message: error.message }
  if (error instanceof SpeechUnavailable) {
    return { status: 503, code: 'service_unavailable', message: error.message }
  }
  return { status: 500, code: 'internal_error', message: 'The reply could not be generated.' }
}
