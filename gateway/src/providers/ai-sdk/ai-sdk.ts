import { Type } from 'typebox'

import { notAcceptedStatuses } from '../kit/not-accepted.ts'
import { protocol } from '../kit/protocol.ts'
import { aiSdkAccess } from './ai-sdk-access.ts'
import { aiSdkVideo } from './ai-sdk-video.ts'

/** Any vendor with a package for the AI SDK. */
export const aiSdk = protocol({
  about: {
    title: 'AI SDK',
    description: 'Any vendor of videos with a package for the AI SDK, which must be installed beside Kinora.',
    capabilities: ['video'],
    needsKey: true,
    examples: { baseUrl: 'https://api.replicate.com/v1', package: '@ai-sdk/replicate' },
  },
  settings: Type.Object({
    package: Type.String({
      // No paths and no URLs, only installed packages.
      pattern: '^(@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*$',
      'x-demand': 'the name of a package such as @ai-sdk/replicate',
      description: 'The npm package of the vendor. Install it beside Kinora.',
    }),
    // It depends on the vendor behind the package.
    notAcceptedStatuses: notAcceptedStatuses([]),
    factory: Type.Optional(
      Type.String({
        minLength: 1,
        description:
          'The function of the package that creates its provider. Default: the one named `create…`.',
      }),
    ),
    options: Type.Record(Type.String(), Type.Unknown(), {
      default: {},
      description:
        'Further options of that function, beside the key and the base URL. Not for secrets: operators can see them.',
    }),
    providerOptions: Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown()), {
      default: {},
      description: "Provider options of every job, under the provider's name, as the package documents them.",
    }),
    frame: Type.Union([Type.Literal('aspectRatio'), Type.Literal('resolution'), Type.Literal('both')], {
      default: 'both',
      description: 'How the size of a video is sent: as 16:9, as 1280x720, or both.',
    }),
    answerMegabytes: Type.Integer({
      minimum: 1,
      maximum: 512,
      default: 1,
      description:
        'The size limit of a response. Increase it for packages with whole videos in responses; it needs memory.',
    }),
  }),
  connect: (connection, own) => ({
    video: aiSdkVideo({ ...connection, ...own }),
    access: aiSdkAccess({ ...connection, ...own }),
  }),
})
