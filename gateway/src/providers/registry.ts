/** The list of protocols, and the providers of the current configuration. */
import { isDeepStrictEqual } from 'node:util'

import { Type } from 'typebox'

import type { Secret } from '../platform/secret.ts'
import type { LiveConfig, ProviderConfig } from '../provider-config/config.ts'
import { aiSdk } from './ai-sdk/ai-sdk.ts'
import { fal } from './fal/fal.ts'
import { gemini } from './gemini/gemini.ts'
import { kinora } from './kinora/kinora.ts'
import { testAccess } from './kit/access/test-access.ts'
import { measuredCapabilities } from './kit/measure-calls.ts'
import { withNotAccepted } from './kit/not-accepted.ts'
import { protocol, type Protocol } from './kit/protocol.ts'
import { localAccess, localEngines } from './local/local-engines.ts'
import { localVideo } from './local/local-video.ts'
import { openAiChat } from './openai/openai-chat.ts'
import { openAi, openAiAudio } from './openai/openai.ts'
import type { ChatProvider } from './port/chat.ts'
import type { Provider, Providers } from './port/provider.ts'
import { replicate } from './replicate/replicate-video.ts'

/** The built-in provider has its own protocol for videos and uses the OpenAI protocol for text and audio. */
const local = protocol({
  about: {
    title: 'Built-in',
    description: 'The built-in provider of this instance, which runs models on its own machine.',
    capabilities: ['video', 'speech', 'transcription', 'chat'],
    needsKey: false,
  },
  // It speaks as many texts at once.
  concurrency: 8,
  settings: Type.Object({}),
  connect: ({ baseUrl, traceparent }) => ({
    video: localVideo({ baseUrl, traceparent }),
    engines: localEngines({ baseUrl }),
    access: localAccess({ baseUrl }),
    ...openAiAudio({ baseUrl, apiKey: undefined, traceparent, isOurs: true }),
  }),
})

/** Another Kinora gateway also serves text and audio in the OpenAI protocol. */
const kinoraWithAudio: Protocol = {
  ...kinora,
  connect: (connection, settings) => ({
    ...kinora.connect(connection, settings),
    ...openAiAudio({ ...connection, isOurs: false }),
  }),
}

export const protocols: Record<string, Protocol> = {
  local,
  openai: openAi,
  gemini,
  kinora: kinoraWithAudio,
  fal,
  replicate,
  'ai-sdk': aiSdk,
}

const connect = (config: ProviderConfig, { ffmpegPath }: { ffmpegPath: string }): Provider => {
  const { name, kind, baseUrl, apiKey, connections, traceparent, resultOrigins, protocolSettings } = config
  const known = protocols[kind]
  if (known === undefined) throw new Error(`provider ${name} has the unknown kind ${kind}`)
  const connection = {
    ...{ name, baseUrl, apiKey: apiKey?.reveal(), connections, traceparent, resultOrigins, ffmpegPath },
  }
  const { access, ...capabilities } = known.connect(connection, protocolSettings as never)
  const { video } = capabilities
  return {
    ...capabilities,
    ...measuredCapabilities(name, {
      ...capabilities,
      ...(video !== undefined && { video: withNotAccepted(video, protocolSettings['notAcceptedStatuses']) }),
    }),
    name,
    acceptsJobs: config.isEnabled,
    slots: config.slots,
    concurrency: config.concurrency,
    shards: config.shards,
    pollIntervalMs: config.pollIntervalMs,
    timeoutsMs: config.timeoutsMs,
    sendsWebhooks: protocolSettings['webhooks'] === true,
    testAccess: () => testAccess(name, access, config.timeoutsMs.poll),
  }
}

/** Deep comparison does not see the text of a `Secret`. */
const comparable = (config: ProviderConfig) => ({ ...config, apiKey: config.apiKey?.reveal() })

export const createProviders = (liveConfig: LiveConfig, settings: { ffmpegPath: string }): Providers => {
  const known = new Map<string, { config: ProviderConfig; provider: Provider }>()
  let present: Provider[] = []
  const refresh = () => {
    present = liveConfig.current().providers.map((config) => {
      const earlier = known.get(config.name)
      if (earlier !== undefined && isDeepStrictEqual(comparable(earlier.config), comparable(config))) {
        return earlier.provider
      }
      const provider = connect(config, settings)
      known.set(config.name, { config, provider })
      return provider
    })
  }
  refresh()
  liveConfig.onChange(refresh)
  const find = (name: string) => known.get(name)?.provider
  const get = (name: string) => {
    const provider = find(name)
    if (provider === undefined) throw new Error(`provider ${name} does not exist`)
    return provider
  }
  return {
    all: () => present,
    known: () => [...known.values()].map(({ provider }) => provider),
    find,
    get,
  }
}

interface EnhancerSettings {
  ENHANCER_URL: string | undefined
  ENHANCER_MODEL: string
  ENHANCER_API_KEY: Secret
}

/** The chat model that rewrites prompts; undefined if none is configured. */
export const createEnhancerChat = (settings: EnhancerSettings): ChatProvider | undefined =>
  settings.ENHANCER_URL === undefined
    ? undefined
    : openAiChat({
        baseUrl: settings.ENHANCER_URL,
        model: settings.ENHANCER_MODEL,
        apiKey: settings.ENHANCER_API_KEY.reveal(),
      })
