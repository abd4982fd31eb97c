/** The one list of protocols, and the providers that speak them as they are set up at the moment. */
import { isDeepStrictEqual } from 'node:util'

import { Type } from 'typebox'

import type { Secret } from '../platform/secret.ts'
import type { LiveConfig, ProviderSettings } from '../provider-config/config.ts'
import { aiSdk } from './ai-sdk/ai-sdk.ts'
import { fal } from './fal/fal.ts'
import { gemini } from './gemini/gemini.ts'
import { kinora } from './kinora/kinora.ts'
import { protocol, type Protocol } from './kit/protocol.ts'
import { localEngines } from './local/local-engines.ts'
import { localVideo } from './local/local-video.ts'
import { openAiChat } from './openai/openai-chat.ts'
import { openAi, openAiSound } from './openai/openai.ts'
import type { ChatProvider } from './port/chat.ts'
import type { Provider, Providers } from './port/provider.ts'
import { replicate } from './replicate/replicate-video.ts'

/** The built-in provider has a protocol of its own for videos, and the common one for words and sound. */
const local = protocol({
  settings: Type.Object({}),
  connect: ({ baseUrl }) => ({
    video: localVideo({ baseUrl }),
    engines: localEngines({ baseUrl }),
    ...openAiSound({ baseUrl, apiKey: undefined, isOurs: true }),
  }),
})

/** Another gateway has words and sound in the common protocol as well. */
const kinoraWithSound: Protocol = {
  ...kinora,
  connect: (connection, settings) => ({
    ...kinora.connect(connection, settings),
    ...openAiSound({ ...connection, isOurs: false }),
  }),
}

export const protocols: Record<string, Protocol> = {
  local,
  openai: openAi,
  gemini,
  kinora: kinoraWithSound,
  fal,
  replicate,
  'ai-sdk': aiSdk,
}

const connect = (settings: ProviderSettings, { ffmpegPath }: { ffmpegPath: string }): Provider => {
  const { name, kind, baseUrl, apiKey, connections, resultOrigins, own } = settings
  const spoken = protocols[kind]
  if (spoken === undefined) throw new Error(`${name} is of the unknown kind ${kind}`)
  const connection = { name, baseUrl, apiKey: apiKey?.reveal(), connections, resultOrigins, ffmpegPath }
  return {
    ...spoken.connect(connection, own as never),
    name,
    takesNew: settings.isEnabled,
    slots: settings.slots,
    shards: settings.shards,
    pollIntervalMs: settings.pollIntervalMs,
    timeoutsMs: settings.timeoutsMs,
    sendsWebhooks: own['webhooks'] === true,
  }
}

/** What is compared to tell whether a provider was changed: secrets hide from every other look at them. */
const shown = (settings: ProviderSettings) => ({ ...settings, apiKey: settings.apiKey?.reveal() })

export const createProviders = (providerConfig: LiveConfig, settings: { ffmpegPath: string }): Providers => {
  const known = new Map<string, { settings: ProviderSettings; provider: Provider }>()
  let present: Provider[] = []
  const refresh = () => {
    present = providerConfig.current().providers.map((entry) => {
      const earlier = known.get(entry.name)
      if (earlier !== undefined && isDeepStrictEqual(shown(earlier.settings), shown(entry))) {
        return earlier.provider
      }
      const provider = connect(entry, settings)
      known.set(entry.name, { settings: entry, provider })
      return provider
    })
  }
  refresh()
  providerConfig.onChange(refresh)
  const find = (name: string) => known.get(name)?.provider
  const get = (name: string) => {
    const provider = find(name)
    if (provider === undefined) throw new Error(`there is no provider named ${name}`)
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

/** The chat model that rewrites prompts, where one is configured. */
export const createEnhancerChat = (settings: EnhancerSettings): ChatProvider | undefined =>
  settings.ENHANCER_URL === undefined
    ? undefined
    : openAiChat({
        baseUrl: settings.ENHANCER_URL,
        model: settings.ENHANCER_MODEL,
        apiKey: settings.ENHANCER_API_KEY.reveal(),
      })
