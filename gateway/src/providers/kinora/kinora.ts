import { Type } from 'typebox'

import { oftenPublicDocument } from '../kit/access/access-calls.ts'
import { notAcceptedStatuses } from '../kit/not-accepted.ts'
import { protocol } from '../kit/protocol.ts'
import { kinoraVideo } from './kinora-video.ts'

/** Another Kinora gateway, or any service with `/v1/video/create` and `/v1/video/query`. */
export const kinora = protocol({
  about: {
    title: 'Kinora',
    description: 'Another Kinora gateway, or a service with /v1/video/create and /v1/video/query.',
    capabilities: ['video', 'speech', 'transcription', 'chat'],
    needsKey: false,
    examples: { baseUrl: 'https://media.example.com' },
  },
  settings: Type.Object({
    idempotentSubmits: Type.Boolean({
      default: true,
      description: 'Whether it returns the existing job for a repeated Idempotency-Key.',
    }),
    // A gateway may fail after it has accepted a task, and recognizes the repeated submit.
    notAcceptedStatuses: notAcceptedStatuses([]),
    endpoints: Type.Union([Type.Literal('ask'), Type.Literal('create')], {
      default: 'ask',
      description:
        'The create endpoint: `ask` reads from its list of models whether /v1/video/create or /v1/videos accepts a model, as ' +
        'Kinora reports it; `create` always uses /v1/video/create. For models of other services that only /v1/videos accepts, configure a ' +
        'provider of the kind openai with the same base URL.',
    }),
    results: Type.Union([Type.Literal('link'), Type.Literal('bytes')], {
      default: 'link',
      description:
        'How a finished video is downloaded: `link` from the URL in its status, or `bytes` from /v1/videos/{id}/content, ' +
        'if its URLs are not reachable from here.',
    }),
  }),
  connect: ({ baseUrl, apiKey, connections, traceparent, resultOrigins }, own) => ({
    video: kinoraVideo({ baseUrl, apiKey, connections, traceparent, resultOrigins, ...own }),
    access: oftenPublicDocument({ baseUrl: baseUrl.replace(/\/v1\/*$/, ''), apiKey }, '/v1/models'),
  }),
})
