import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'

import { errorOf, isKnown, refuseGemini } from './gemini-errors.ts'
import { readText } from './read-create.ts'
import { type createVendorSpeech, gone, type VendorSpeech, wordsIn } from './speech.ts'

const route = /^\/v1(?:beta)?\/.*models\/([^/:]+):(stream)?generateContent$/i

export const isGeminiSpeech = ({ pathname }: URL): boolean => route.test(pathname)

interface SpeechRequest {
  contents?: { parts?: { text?: string }[] }[]
  generationConfig?: {
    speechConfig?: { voiceConfig?: { prebuiltVoiceConfig?: { voiceName?: string } } }
  }
}

/** The candidate of a response. */
const replyOf = (parts: unknown[], finishReason?: string) => ({
  candidates: [{ content: { role: 'model', parts }, finishReason, index: 0 }],
})

/**
 * Speech as base64 PCM, whole or in events. Directives in the text request faults, another speed and another rate;
 * `vendor:words=2` returns text instead of audio the first two times.
 */
export function createGeminiSpeech(
  { enter, soundOf }: ReturnType<typeof createVendorSpeech>,
  apiKey: string | undefined,
) {
  const timesAsked = new Map<string, number>()

  async function answer(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const asked = JSON.parse(await readText(request)) as SpeechRequest
    if (!isKnown(request, url, apiKey)) return refuseGemini(response, 401, 'invalid_api_key')
    const [, model = '', stream] = route.exec(url.pathname) ?? []
    const input = asked.contents?.[0]?.parts?.[0]?.text ?? ''
    const voice = asked.generationConfig?.speechConfig?.voiceConfig?.prebuiltVoiceConfig?.voiceName ?? ''
    const speech = enter({ model, input, voice, format: 'pcm', speed: 1, instructions: undefined }, response)
    const words = wordsIn(input)
    const times = (timesAsked.get(input) ?? 0) + 1
    timesAsked.set(input, times)

    const refuse = (status: number, code: string) => {
      speech.state = 'refused'
      refuseGemini(response, status, code)
    }
    if (words.has('500')) return refuse(500, 'server_error')
    if (words.has('busy')) return refuse(429, 'rate_limit_exceeded')
    if (words.has('reject')) return refuse(400, words.get('reject') ?? 'invalid_value')
    if (words.has('hang')) return
    const isStream = stream !== undefined
    response.writeHead(200, { 'content-type': isStream ? 'text/event-stream' : 'application/json' })
    const send = (value: unknown) =>
      response.write(isStream ? `data: ${JSON.stringify(value)}\r\n\r\n` : JSON.stringify(value))
    const finish = (value?: unknown) => {
      if (value !== undefined) send(value)
      speech.state = 'finished'
      response.end()
    }
    if (words.has('blocked')) return finish({ promptFeedback: { blockReason: 'PROHIBITED_CONTENT' } })
    if (words.has('moderated')) return finish(replyOf([], 'SAFETY'))
    if (words.has('too-long')) return finish(replyOf([], 'MAX_TOKENS'))
    if (words.has('mistake')) return finish({ error: errorOf(503, 'overloaded') })
    if (words.has('empty')) return finish(replyOf([], 'OTHER'))
    if (times <= Number(words.get('words') ?? 0)) return finish(replyOf([{ text: 'Hello.' }], 'STOP'))

    const rate = Number(words.get('rate') ?? 24_000)
    const sound = await soundOf('pcm', Math.max(0.1, [...input].length / 15))
    speech.sizeBytes = sound.length
    const mimeType = words.has('type') ? `audio/${words.get('type')}` : `audio/L16;codec=pcm;rate=${rate}`
    const partOf = (bytes: Buffer) => ({ inlineData: { mimeType, data: bytes.toString('base64') } })
    if (!isStream) {
      speech.sentBytes = sound.length
      const middle = Math.ceil(sound.length / 2)
      return finish(replyOf([partOf(sound.subarray(0, middle)), partOf(sound.subarray(middle))], 'STOP'))
    }
    await sendInEvents(speech, sound, words, response, (bytes) => send(replyOf([partOf(bytes)])))
    if (speech.state !== 'under way' || response.destroyed || words.has('stall')) return
    if (words.has('cut')) return finish()
    finish(replyOf([], words.get('ends')?.toUpperCase() ?? 'STOP'))
  }

  return { answer }
}

async function sendInEvents(
  speech: VendorSpeech,
  sound: Buffer,
  words: Map<string, string | undefined>,
  response: ServerResponse,
  send: (bytes: Buffer) => boolean,
): Promise<void> {
  const signal = gone(response)
  const numberIn = (word: string, otherwise: number) => Number(words.get(word) ?? otherwise)
  const chunkBytes = Math.max(1, Math.ceil(sound.length / numberIn('chunks', 16)))
  for (let from = 0; from < sound.length; from += chunkBytes) {
    const isPastHalf = from >= sound.length / 2
    if (isPastHalf && words.has('stall')) return
    if (isPastHalf && words.has('die')) {
      speech.state = 'cut'
      response.socket?.destroy()
      return
    }
    const chunk = sound.subarray(from, from + chunkBytes)
    const fitsQueue = send(chunk)
    speech.sentBytes += chunk.length
    if (!fitsQueue) await once(response, 'drain', { signal }).catch(() => undefined)
    if (response.destroyed) return
    await wait(numberIn('pace', 2))
  }
}
