import type { ModelConfig } from '../../models/model.ts'
import type { Capability } from '../../providers/port/provider.ts'

/** The capability that a kind of model needs. */
export const capabilityFor: Record<ModelConfig['kind'], Capability> = {
  video: 'video',
  transcription: 'transcription',
  speech: 'speech',
  chat: 'dialogue',
}
