import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import type { Dialogue } from '../../src/dialogue/dialogue.ts'

interface Completion {
  choices: {
    message: { content: string; audio?: { id: string; data: string; transcript: string; expires_at: number } }
    finish_reason: string
  }[]
  usage?: {
    prompt_tokens: number
    completion_tokens: number
    prompt_tokens_details: { text_tokens: number; audio_tokens: number }
    completion_tokens_details: { text_tokens: number; audio_tokens: number }
  }
  error?: { code: string; message: string; param?: string }
}

export interface Chunk {
  choices: { index: number; delta: { content?: string }; finish_reason: string | null }[]
  usage?: Completion['usage']
}

export interface DialogueClient {
  ask: (body: object, signal?: AbortSignal) => Promise<Response>
  complete: (body: object) => Promise<Completion & { status: number; engine: string | null }>
  /** The chunks of a stream. Fails if the stream is incomplete. */
  stream: (body: object) => Promise<Chunk[]>
  close: () => Promise<void>
}

/** Serves a dialogue on its own port and returns a client for it. */
export async function askDialogue(dialogue: Dialogue): Promise<DialogueClient> {
  const server = createServer((request, response) => void dialogue.handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/chat/completions`
  const ask = (body: object, signal?: AbortSignal) =>
    fetch(url, {
      method: 'POST',
      body: JSON.stringify({ model: 'chat-4o-audio-preview', ...body }),
      ...(signal === undefined ? {} : { signal }),
    })
  return {
    ask,
    async complete(body) {
      const response = await ask(body)
      const { status, headers } = response
      return { ...((await response.json()) as Completion), status, engine: headers.get('x-engine') }
    },
    async stream(body) {
      const response = await ask({ ...body, stream: true })
      const events = (await response.text()).split('\n\n')
      if (events.pop() !== '' || events.pop() !== 'data: [DONE]') throw new Error('The stream was cut off.')
      return events.map((event) => JSON.parse(event.replace(/^data: /u, '')) as Chunk)
    },
    async close() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
      await dialogue.close()
    },
  }
}

export const user = (content: string | object[]) => ({ role: 'user', content })

/** The whole text of one choice. */
export function textOf(chunks: Chunk[], index = 0): string {
  const choices = chunks.flatMap((chunk) => chunk.choices).filter((choice) => choice.index === index)
  return choices.map(({ delta }) => delta.content ?? '').join('')
}
