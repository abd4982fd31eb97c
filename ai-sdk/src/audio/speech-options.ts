import type { Option } from '../read-options.ts'

/** `providerOptions.kinora` of speech. */
export type KinoraSpeechOptions = {
  /** By which the service recognizes a repetition of this request. Without it, every call of the SDK has one of its own. */
  idempotencyKey?: string
  /** Your own data about the request, by which usage can be grouped. */
  metadata?: Record<string, string | number | boolean>
}

export const speechOptions: Record<keyof KinoraSpeechOptions, Option> = {
  idempotencyKey: { kind: 'string' },
  metadata: { kind: 'object', parameter: 'metadata' },
}
