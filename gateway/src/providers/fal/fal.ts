import { Type } from 'typebox'

import { protocol } from '../kit/protocol.ts'
import { fillingNames, type ModelInput, modelInput } from '../kit/video/model-input.ts'
import { falVideo } from './fal-video.ts'

/** Fits the greater part of the vendor's models: those enumerate lengths as text, and pass over what they don't know. */
export const usualInput: ModelInput = {
  prompt: 'prompt',
  duration: 'seconds',
  aspect_ratio: 'aspect-ratio',
  resolution: 'resolution',
  image_url: 'image',
}

/** A queue with a model behind each path, and webhooks that are signed for all to see. */
export const fal = protocol({
  defaultBaseUrl: 'https://queue.fal.run',
  settings: Type.Object({
    webhooks: Type.Boolean({
      default: false,
      description: 'Whether it is told to bring its news to PUBLIC_URL, which it must then be able to reach.',
    }),
    jwksUrl: Type.String({
      default: 'https://rest.fal.ai/.well-known/jwks.json',
      pattern: '^https?://[\\w.-]+(:\\d+)?(/\\S*)?$',
      'x-demand': 'an address such as https://rest.fal.ai/.well-known/jwks.json',
      description: 'Where it publishes the keys that its news are signed with.',
    }),
    userId: Type.String({
      default: '',
      description:
        'The account that news must be for, as their header `x-fal-webhook-user-id` has it; empty for any.',
    }),
    input: modelInput({
      default: usualInput,
      description: `What each field of a model's input is filled with: ${fillingNames.join(', ')}.`,
    }),
    inputs: Type.Record(Type.String(), modelInput(), {
      default: {},
      description: 'The same for single models, by their name there; it replaces `input` as a whole.',
    }),
    fixed: Type.Record(Type.String(), Type.Unknown(), {
      default: {},
      description: 'Fields of the input that are the same for every job, such as `{generate_audio: false}`.',
    }),
    withImage: Type.Record(Type.String(), Type.String({ minLength: 1 }), {
      default: {},
      description:
        'Models that stand in for others where a picture is given, such as `{owner/app/text-to-video: owner/app/image-to-video}`.',
    }),
  }),
  connect: ({ baseUrl, apiKey, connections, resultOrigins }, own) => ({
    video: falVideo({ baseUrl, apiKey: apiKey ?? '', connections, resultOrigins, ...own }),
  }),
})
