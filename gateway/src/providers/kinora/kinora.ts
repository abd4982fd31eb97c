import { Type } from 'typebox'

import { protocol } from '../kit/protocol.ts'
import { kinoraVideo } from './kinora-video.ts'

/** Another gateway of our kind, or whoever speaks the dialect of `/v1/video/create` and `/v1/video/query`. */
export const kinora = protocol({
  settings: Type.Object({
    idempotentSubmits: Type.Boolean({
      default: true,
      description: 'Whether it answers a repeated Idempotency-Key with the job it already has.',
    }),
    endpoints: Type.Union([Type.Literal('ask'), Type.Literal('create')], {
      default: 'ask',
      description:
        'Where jobs go: `ask` looks up in its list of models whether /v1/video/create or /v1/videos takes a model, as ' +
        'Kinora tells; `create` always uses /v1/video/create. Models of others that only /v1/videos takes are for a ' +
        'provider of the kind openai at the same address.',
    }),
    results: Type.Union([Type.Literal('link'), Type.Literal('bytes')], {
      default: 'link',
      description:
        'How a finished video is fetched: `link` from the address in its status, or `bytes` from /v1/videos/{id}/content, ' +
        'where its addresses do not open from here.',
    }),
  }),
  connect: ({ baseUrl, apiKey, connections, resultOrigins }, own) => ({
    video: kinoraVideo({ baseUrl, apiKey, connections, resultOrigins, ...own }),
  }),
})
