/**
 * The headers of responses that clients may want to read. Pages of other origins may read all of them, and the OpenAPI
 * documents show those that belong to a kind of responses.
 */

/**
 * `every`: all responses. `counted`: those of requests that count against a limit. `error`: all errors. `retry`: errors
 * with a status that a later attempt can cure. `model`: successes of operations that use one model. `some`: where the
 * operation describes it.
 */
export type HeaderPlace = 'every' | 'counted' | 'error' | 'retry' | 'model' | 'some'

interface HeaderRow {
  place: HeaderPlace
  description: string
}

export const responseHeaders = {
  'x-request-id': { place: 'every', description: 'The id of the request. Operators find it by this id.' },
  'x-ratelimit-limit': {
    place: 'counted',
    description: 'The tightest limit that the request counts against.',
  },
  'x-ratelimit-remaining': { place: 'counted', description: 'How many requests are left of that limit.' },
  'x-ratelimit-reset': {
    place: 'counted',
    description: 'When that limit is whole again, as a Unix time in seconds.',
  },
  'ratelimit-policy': {
    place: 'counted',
    description:
      'All limits that the request counts against: `"<name>";q=<requests>;w=<seconds>`, as in draft-ietf-httpapi-ratelimit-headers.',
  },
  ratelimit: {
    place: 'counted',
    description: 'What is left of each of them: `"<name>";r=<requests>;t=<seconds until it is whole again>`.',
  },
  'retry-after': {
    place: 'retry',
    description: 'How many seconds to wait before the request is sent again.',
  },
  'retry-after-ms': { place: 'retry', description: 'The same in milliseconds, with a random addition.' },
  'x-should-retry': {
    place: 'error',
    description:
      '`true` if the same request may succeed later, `false` if a client should not send it again by itself.',
  },
  deprecation: {
    place: 'model',
    description: 'Since when the model is deprecated: `@` and a Unix time in seconds (RFC 9745).',
  },
  sunset: { place: 'model', description: 'When the model is shut down, as an HTTP date (RFC 8594).' },
  link: {
    place: 'model',
    description:
      'Links to the model (`rel="deprecation"`, `rel="sunset"`) and to its successor (`rel="successor-version"`).',
  },
  'x-ignored-params': { place: 'some', description: 'Parameters that had no effect.' },
  'x-media-expires-at': { place: 'some', description: 'Until when the file is kept.' },
  'x-spritesheet': {
    place: 'some',
    description:
      'The layout of a spritesheet: `columns=<n>, rows=<n>, interval-ms=<milliseconds between two frames>`.',
  },
  'content-range': { place: 'some', description: 'The range of the file that the response has.' },
  etag: { place: 'some', description: 'The version of the resource, for `If-None-Match` and `If-Range`.' },
  'x-engine': { place: 'some', description: 'The engine that made the result.' },
  'x-engine-wanted': {
    place: 'some',
    description: 'The engine that would have made it if it were installed.',
  },
  'x-translation': { place: 'some', description: '`none` or `partial` if text was not translated.' },
  'x-audio-format': { place: 'some', description: 'The format of raw samples.' },
  'x-poll-after': { place: 'some', description: 'How many seconds to wait before the next read.' },
  'openai-poll-after-ms': { place: 'some', description: 'The same in milliseconds.' },
  'x-queue-position': { place: 'some', description: 'The estimated position in the queue, as a range.' },
  'x-time-left': { place: 'some', description: 'The estimated seconds to the end, as a range.' },
  'preference-applied': { place: 'some', description: 'The preferences of the request that took effect.' },
  'idempotent-replayed': {
    place: 'some',
    description: '`true` if this is the stored response of an earlier request.',
  },
} as const satisfies Record<string, HeaderRow>

export type ResponseHeader = keyof typeof responseHeaders

export const headersAt = (...places: HeaderPlace[]): ResponseHeader[] =>
  (Object.keys(responseHeaders) as ResponseHeader[]).filter((name) =>
    places.includes(responseHeaders[name].place),
  )
