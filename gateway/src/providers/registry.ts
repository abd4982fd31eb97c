/** The one list of protocols: a provider's kind leads to what speaks it. */
import type { Config, ModelSettings, ProviderSettings } from '../config.ts'
import { localEngines } from './local/local-engines.ts'
import { localVideo } from './local/local-video.ts'
import { openAiChat } from './openai/openai-chat.ts'
import { openAiDialogue } from './openai/openai-dialogue.ts'
import { openAiSpeech } from './openai/openai-speech.ts'
import { openAiTranscription } from './openai/openai-transcription.ts'
import { openAiVideo } from './openai/openai-video.ts'
import type { ChatProvider } from './port/chat.ts'
import type { Provider, Providers } from './port/provider.ts'
import type { VideoProvider } from './port/video.ts'

const protocols: Record<ProviderSettings['kind'], (settings: ProviderSettings) => VideoProvider> = {
  local: ({ baseUrl }) => localVideo({ baseUrl }),
  openai: ({ baseUrl, apiKey, idempotentSubmits, canLookUp }) =>
    openAiVideo({ baseUrl, apiKey: apiKey?.reveal() ?? '', idempotentSubmits, lookup: canLookUp }),
}

/** Words and sound go by one protocol, whoever is asked. */
const wordsAndSound = ({ kind, baseUrl, apiKey }: ProviderSettings) => {
  const settings = { baseUrl, apiKey: apiKey?.reveal(), isOurs: kind === 'local' }
  return {
    speech: openAiSpeech(settings),
    transcription: openAiTranscription(settings),
    dialogue: openAiDialogue(settings),
    ...(settings.isOurs && { engines: localEngines({ baseUrl }) }),
  }
}

export const createProviders = (
  providers: ProviderSettings[],
  models: Record<string, Pick<ModelSettings, 'provider' | 'upstreamModel'>>,
): Providers => {
  const byName = new Map(
    providers.map((settings): [string, Provider] => [
      settings.name,
      {
        name: settings.name,
        video: protocols[settings.kind](settings),
        ...wordsAndSound(settings),
        slots: settings.slots,
        shards: settings.shards,
        checkEveryMs: settings.checkEveryMs,
      },
    ]),
  )
  const [first] = byName.values()
  if (first === undefined) throw new Error('at least one provider is needed')
  const get = (name: string): Provider => {
    const provider = byName.get(name)
    if (provider === undefined) throw new Error(`there is no provider named ${name}`)
    return provider
  }
  for (const [model, { provider }] of Object.entries(models)) {
    if (provider !== undefined && !byName.has(provider))
      throw new Error(`${model} names an unknown provider ${provider}`)
  }
  return {
    all: () => [...byName.values()],
    get,
    forModel: (model) => ({
      provider: models[model]?.provider === undefined ? first : get(models[model].provider),
      upstreamModel: models[model]?.upstreamModel ?? model,
    }),
  }
}

/** The chat model that rewrites prompts, where one is configured. */
export const createEnhancerChat = (
  settings: Pick<Config, 'ENHANCER_URL' | 'ENHANCER_MODEL' | 'ENHANCER_API_KEY'>,
): ChatProvider | undefined =>
  settings.ENHANCER_URL === undefined
    ? undefined
    : openAiChat({
        baseUrl: settings.ENHANCER_URL,
        model: settings.ENHANCER_MODEL,
        apiKey: settings.ENHANCER_API_KEY.reveal(),
      })
