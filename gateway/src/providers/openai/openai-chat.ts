import { jsonBody } from '../kit/http/multipart.ts'
import { upstreamAt } from '../kit/http/upstream-http.ts'
import { member, textOf } from '../kit/json/lenient-json.ts'
import type { ChatMessage, ChatProvider } from '../port/chat.ts'
import { ProviderFailure } from '../port/failure.ts'

export interface OpenAiChatSettings {
  baseUrl: string
  apiKey: string
  model: string
}

/** The `/v1/chat/completions` protocol for short responses without streaming. */
export function openAiChat(settings: OpenAiChatSettings): ChatProvider {
  const upstream = upstreamAt({
    baseUrl: settings.baseUrl.replace(/\/v1\/*$/, ''),
    apiKey: settings.apiKey,
    connections: 16,
  })

  async function complete(messages: ChatMessage[], signal: AbortSignal): Promise<string> {
    const answer = await upstream.callJson({
      what: 'chat',
      method: 'POST',
      path: '/v1/chat/completions',
      body: jsonBody({ model: settings.model, messages }),
      signal,
    })
    const choices = member(answer.body, 'choices')
    const first: unknown = Array.isArray(choices) ? choices[0] : undefined
    const content = textOf(member(member(first, 'message'), 'content'))
    if (content === undefined) throw new ProviderFailure('unknown', 'chat answered without content')
    return content
  }

  return { complete }
}
