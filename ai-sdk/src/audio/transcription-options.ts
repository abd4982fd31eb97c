import type { Option } from '../read-options.ts'

/** `providerOptions.kinora` of a transcription. */
export type KinoraTranscriptionOptions = {
  /** By which the service recognizes a repetition of this request. Without it, every call of the SDK has one of its own. */
  idempotencyKey?: string
  /** Your own data about the request, by which usage can be grouped. */
  metadata?: Record<string, string | number | boolean>
  /** The spoken language, as an ISO 639-1 code. Detected if omitted. Not for translations. */
  language?: string
  /** Context for the model, such as the spelling of names. */
  prompt?: string
  /** From 0 to 1. */
  temperature?: number
  /** `translate` produces English text. Default: `transcribe`. */
  task?: string
}

export const transcriptionOptions: Record<keyof KinoraTranscriptionOptions, Option> = {
  idempotencyKey: { kind: 'string' },
  metadata: { kind: 'object', parameter: 'metadata' },
  language: { kind: 'string', parameter: 'language' },
  prompt: { kind: 'string', parameter: 'prompt' },
  temperature: { kind: 'number', parameter: 'temperature' },
  task: { kind: 'string' },
}
