import { Type } from 'typebox'

import { notAcceptedStatuses } from '../kit/not-accepted.ts'
import { protocol } from '../kit/protocol.ts'
import { geminiAccess } from './gemini-access.ts'
import { developerUrl } from './gemini-api.ts'
import { geminiSpeech, usualVoices } from './gemini-speech.ts'
import { geminiVideo } from './gemini-video.ts'

const usual = Object.entries(usualVoices)
  .map(([ours, theirs]) => `${ours} is ${theirs}`)
  .join(', ')

/** The protocol of the Gemini and Veo models: videos as long-running operations, speech as PCM samples. */
export const gemini = protocol({
  about: {
    title: 'Google Gemini and Vertex AI',
    description: 'Veo videos and Gemini speech of Google, with an API key or a service account.',
    capabilities: ['video', 'speech'],
    needsKey: true,
    examples: { project: 'my-project' },
  },
  defaultBaseUrl: developerUrl,
  settings: Type.Object({
    api: Type.Enum(['developer', 'enterprise'], {
      default: 'developer',
      description:
        'The API: `developer` with an API key, or `enterprise` (Vertex AI), where `apiKey` is an ' +
        'access token or the JSON of a service account.',
    }),
    // The troubleshooting guide says to repeat a request after 500 INTERNAL, and the vendor's client libraries do so by
    // themselves. After 504 DEADLINE_EXCEEDED the operation may exist.
    notAcceptedStatuses: notAcceptedStatuses([500]),
    project: Type.Optional(
      Type.String({ minLength: 1, description: 'The project that the enterprise API is called for.' }),
    ),
    location: Type.String({
      minLength: 1,
      default: 'us-central1',
      description: 'The location of the enterprise API. It also determines the URL if `baseUrl` is not set.',
    }),
    generateAudio: Type.Optional(
      Type.Boolean({
        description: 'Whether videos have sound (enterprise API only). If not set, the model decides.',
      }),
    ),
    personGeneration: Type.Optional(
      Type.Enum(['allow_all', 'allow_adult', 'dont_allow'], {
        description: 'Which people may be shown. If not set, the vendor decides by model and region.',
      }),
    ),
    streaming: Type.Boolean({
      default: true,
      description: 'Whether speech is streamed. Older models do not support it.',
    }),
    followsInstructions: Type.Boolean({
      default: true,
      description:
        "Whether a caller's instructions are put before the text, which is how these models take them. " +
        'If false, they are dropped and the response says so.',
    }),
    voices: Type.Record(Type.String(), Type.String({ minLength: 1 }), {
      default: {},
      description: `The vendor's names of voices, if not the default: ${usual}. Other names are sent unchanged.`,
    }),
  }),
  connect: (connection, own) => ({
    video: geminiVideo({ ...connection, ...own }),
    speech: geminiSpeech({ ...connection, ...own }),
    access: geminiAccess({ ...connection, ...own }),
  }),
})
