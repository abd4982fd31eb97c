import { Type } from 'typebox'

import { protocol } from '../kit/protocol.ts'
import { aiSdkVideo } from './ai-sdk-video.ts'

/** Whatever protocol a package for the AI SDK speaks, by way of that package. */
export const aiSdk = protocol({
  settings: Type.Object({
    package: Type.String({
      // No path and no address: only what was installed.
      pattern: '^(@[a-z0-9~-][a-z0-9._~-]*/)?[a-z0-9~-][a-z0-9._~-]*$',
      'x-demand': 'the name of a package such as @ai-sdk/replicate',
      description: 'The package that speaks to the vendor. Install it beside Kinora.',
    }),
    factory: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'The function in it that makes its provider. Default: the one that is named `create…`.',
      }),
    ),
    options: Type.Record(Type.String(), Type.Unknown(), {
      default: {},
      description:
        'What that function is given beside the key and the base URL. Nothing secret: it is shown.',
    }),
    providerOptions: Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown()), {
      default: {},
      description: "What goes along with every job, under the provider's name, as the package documents it.",
    }),
    frame: Type.Union([Type.Literal('aspectRatio'), Type.Literal('resolution'), Type.Literal('both')], {
      default: 'both',
      description: "How the package is told a video's size: as 16:9, as 1280x720, or both.",
    }),
    answerMegabytes: Type.Integer({
      minimum: 1,
      maximum: 512,
      default: 1,
      description:
        'How large an answer may be. More is for packages that have whole videos in answers, and takes memory.',
    }),
  }),
  connect: (connection, own) => ({ video: aiSdkVideo({ ...connection, ...own }) }),
})
