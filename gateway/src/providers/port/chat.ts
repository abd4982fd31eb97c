/** Completes a chat without streaming. Throws only `ProviderFailure`. */
export interface ChatProvider {
  complete: (messages: ChatMessage[], signal: AbortSignal) => Promise<string>
}

export interface ChatMessage {
  role: 'system' | 'user'
  content: string
}
