/** Which responses to a submit mean that there is no job, for each kind of provider. */
import { expect, test } from 'vitest'

import { jobForTest } from '../../test/kit/job-for-test.ts'
import { listenForTest } from '../../test/kit/listen-for-test.ts'
import { providerConfigAt } from '../../test/kit/vendor-providers.ts'
import { validateConfig } from '../provider-config/validate-config.ts'
import { ProviderFailure } from './port/failure.ts'
import { createProviders, protocols } from './registry.ts'

const settings: Record<string, object> = {
  'ai-sdk': { package: '@ai-sdk/replicate' },
  // Otherwise the list of models is read first.
  kinora: { endpoints: 'create' },
}

/** The kind of failure of a submit to a provider that answers with this status. */
const kindOf = async (kind: string, status: number, own: object = {}) => {
  await using server = await listenForTest((_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end('{"error": {"message": "No."}}')
  })
  const protocol = protocols[kind]
  if (protocol === undefined) throw new Error(`there is no kind ${kind}`)
  const { values } = validateConfig(protocol.settings, { ...settings[kind], ...own })
  const config = providerConfigAt(server.url, 'a-key', { kind, protocolSettings: values })
  const live = { current: () => ({ providers: [config], models: {} }), onChange: () => () => {} }
  const { video } = createProviders(live, { ffmpegPath: 'ffmpeg' }).get('vendor')
  const job = jobForTest({ model: 'maker/film' })
  return await video?.submit(job, AbortSignal.timeout(60_000)).then(
    () => 'accepted',
    (error: unknown) => (error instanceof ProviderFailure ? error.kind : error),
  )
}

test.each([
  ['openai', 'not_delivered'],
  ['gemini', 'not_delivered'],
  ['fal', 'not_delivered'],
  ['replicate', 'unknown'],
  ['kinora', 'unknown'],
  ['ai-sdk', 'unknown'],
])('a 500 of the kind %s is %s, and 502 and 504 are unknown', async (kind, after500) => {
  expect([await kindOf(kind, 500), await kindOf(kind, 502), await kindOf(kind, 504)]).toEqual([
    after500,
    'unknown',
    'unknown',
  ])
})

test.each(['openai', 'gemini', 'fal', 'replicate', 'kinora', 'ai-sdk'])(
  'the configuration of a provider of the kind %s changes it',
  async (kind) => {
    expect(await kindOf(kind, 502, { notAcceptedStatuses: [502] })).toBe('not_delivered')
    expect(await kindOf(kind, 500, { notAcceptedStatuses: [] })).toBe('unknown')
  },
)
