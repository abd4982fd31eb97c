import { Type } from 'typebox'

import { protocol } from '../kit/protocol.ts'
import { developerUrl } from './gemini-api.ts'
import { geminiSpeech, usualVoices } from './gemini-speech.ts'
import { geminiVideo } from './gemini-video.ts'

const usual = Object.entries(usualVoices)
  .map(([ours, theirs]) => `${ours} is ${theirs}`)
  .join(', ')

/** Videos as operations that run for long, and speech as plain samples: the protocol of the Gemini and Veo models. */
export const gemini = protocol({
  defaultBaseUrl: developerUrl,
  settings: Type.Object({
    api: Type.Enum(['developer', 'enterprise'], {
      default: 'developer',
      description:
        'Which of the two APIs it is: `developer` with an API key, or `enterprise` (Vertex AI), where `apiKey` is an ' +
        'access token or the JSON of a service account.',
    }),
    project: Type.Optional(
      Type.String({ minLength: 1, description: 'The project that the enterprise API is called for.' }),
    ),
    location: Type.String({
      minLength: 1,
      default: 'us-central1',
      description: 'Where the enterprise API runs its models; without `baseUrl` also where it is reached.',
    }),
    generateAudio: Type.Optional(
      Type.Boolean({
        description: 'Whether videos have sound, in the enterprise API. Left out, the model decides.',
      }),
    ),
    personGeneration: Type.Optional(
      Type.Enum(['allow_all', 'allow_adult', 'dont_allow'], {
        description: 'Which people may be shown. Left out, the vendor decides by model and region.',
      }),
    ),
    streaming: Type.Boolean({
      default: true,
      description: 'Whether speech is asked for as it is made. Older models only give it whole.',
    }),
    followsInstructions: Type.Boolean({
      default: true,
      description:
        'Whether instructions of a caller are put before the text, which is how these models are told how to speak. ' +
        'Without it they are left out, and the answer says so.',
    }),
    voices: Type.Record(Type.String(), Type.String({ minLength: 1 }), {
      default: {},
      description: `What it calls our voices, where not as usual: ${usual}. Other names go as they are.`,
    }),
  }),
  connect: (connection, own) => ({
    video: geminiVideo({ ...connection, ...own }),
    speech: geminiSpeech({ ...connection, ...own }),
  }),
})
