import type { ModelConfig } from '../../models/model.ts'
import type { Capability } from '../../providers/port/provider.ts'

/** What a provider must be able to do for models of a kind. */
export const capabilityFor: Record<ModelConfig['kind'], Capability> = {
  video: 'video',
  transcription: 'transcription',
  speech: 'speech',
  chat: 'dialogue',
}
