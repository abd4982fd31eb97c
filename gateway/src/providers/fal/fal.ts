import { Type } from 'typebox'

import { notAcceptedStatuses } from '../kit/not-accepted.ts'
import { protocol } from '../kit/protocol.ts'
import { fillingNames, type ModelInput, modelInput } from '../kit/video/model-input.ts'
import { falAccess } from './fal-access.ts'
import { falVideo } from './fal-video.ts'

/** Fits most models of the vendor: they take lengths as text and ignore unknown fields. */
export const usualInput: ModelInput = {
  prompt: 'prompt',
  duration: 'seconds',
  aspect_ratio: 'aspect-ratio',
  resolution: 'resolution',
  image_url: 'image',
}

/** A queue with one model per path, and webhooks with public-key signatures. */
export const fal = protocol({
  about: {
    title: 'fal',
    description: 'The model queue of fal, with videos of many vendors.',
    capabilities: ['video'],
    needsKey: true,
  },
  defaultBaseUrl: 'https://queue.fal.run',
  settings: Type.Object({
    // A request is in the queue once the submit has returned its id, and the reliability guide says that a request with a 5xx
    // is not billed. The queue itself repeats after a 504, so that one may have been queued.
    notAcceptedStatuses: notAcceptedStatuses([500]),
    webhooks: Type.Boolean({
      default: false,
      description: 'Whether it sends webhooks to PUBLIC_URL, which it must be able to reach.',
    }),
    jwksUrl: Type.String({
      default: 'https://rest.fal.ai/.well-known/jwks.json',
      pattern: '^https?://[\\w.-]+(:\\d+)?(/\\S*)?$',
      'x-demand': 'a URL such as https://rest.fal.ai/.well-known/jwks.json',
      description: 'The JWKS URL with the keys of its webhook signatures.',
    }),
    userId: Type.String({
      default: '',
      description:
        'The account that webhooks must be for, as in their header `x-fal-webhook-user-id`; empty for any.',
    }),
    input: modelInput({
      default: usualInput,
      description: `The value of each field of a model's input: ${fillingNames.join(', ')}.`,
    }),
    inputs: Type.Record(Type.String(), modelInput(), {
      default: {},
      description: "The same for single models, by the vendor's model name; it replaces `input` as a whole.",
    }),
    fixed: Type.Record(Type.String(), Type.Unknown(), {
      default: {},
      description: 'Constant fields of the input, such as `{generate_audio: false}`.',
    }),
    withImage: Type.Record(Type.String(), Type.String({ minLength: 1 }), {
      default: {},
      description:
        'Models to use instead of others for jobs with an image, such as `{owner/app/text-to-video: owner/app/image-to-video}`.',
    }),
  }),
  connect: ({ baseUrl, apiKey, connections, traceparent, resultOrigins }, own) => ({
    video: falVideo({ baseUrl, apiKey: apiKey ?? '', connections, traceparent, resultOrigins, ...own }),
    access: falAccess({ baseUrl, apiKey }),
  }),
})
