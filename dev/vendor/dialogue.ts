import { createHash, randomBytes } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'

/** One conversation turn as requested. Recordings are counted and hashed, not stored. */
export interface VendorTurn {
  model: string
  /** The request without its messages. */
  settings: Record<string, unknown>
  messages: { role: string; text: string; audioId: string | undefined }[]
  recordings: { format: string; sizeBytes: number; sha256: string }[]
  state: 'under way' | 'refused' | 'finished' | 'cut' | 'abandoned'
}

interface Message {
  role: string
  content?: string | { type: string; text?: string; input_audio?: { data: string; format: string } }[] | null
  audio?: { id: string }
}

export interface DialogueRequest {
  model?: string
  messages?: Message[]
  stream?: boolean
  n?: number
  max_tokens?: number
  audio?: { voice: string; format: string }
  modalities?: string[]
  [setting: string]: unknown
}

type SoundOf = (format: string, seconds: number) => Promise<Buffer>

const textOf = ({ content }: Message): string =>
  typeof content === 'string' ? content : (content ?? []).map(({ text = '' }) => text).join(' ')

function recordingsIn(messages: Message[]): VendorTurn['recordings'] {
  return messages.flatMap(({ content }) =>
    (typeof content === 'string' ? [] : (content ?? [])).flatMap(({ input_audio: sound }) => {
      if (sound === undefined) return []
      const bytes = Buffer.from(sound.data, 'base64')
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      return { format: sound.format, sizeBytes: bytes.length, sha256 }
    }),
  )
}

/**
 * The vendor's chat with audio: the reply repeats the input, and has the size and the
 * beginning of the hash of each recording. `vendor:name` or `vendor:name=value` in the last message inject faults.
 */
export function createVendorDialogue(soundOf: SoundOf) {
  const turns: VendorTurn[] = []
  const served = new Map<string, string>()

  async function answer(asked: DialogueRequest, host: string, response: ServerResponse): Promise<void> {
    const { model = '', messages = [], ...settings } = asked
    const turn: VendorTurn = {
      model,
      settings,
      messages: messages.map((message) => ({
        role: message.role,
        text: textOf(message),
        audioId: message.audio?.id,
      })),
      recordings: recordingsIn(messages),
      state: 'under way',
    }
    turns.push(turn)
    response.on('close', () => {
      if (turn.state === 'under way') turn.state = 'abandoned'
    })
    const said = textOf(messages.at(-1) ?? { role: 'user' })
    const words = new Map(
      [...said.matchAll(/\bvendor:([a-z0-9-]+)(?:=(\w+))?/g)].map(([, word = '', value]) => [word, value]),
    )
    const refuse = (status: number, code: string, param: string | null = null) => {
      turn.state = 'refused'
      const message = `The simulated vendor at ${host} refuses.`
      const text = JSON.stringify({ error: { code, param, type: 'invalid_request_error', message } })
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '7' }).end(text)
    }
    if (words.has('500')) return refuse(500, 'server_error')
    if (words.has('busy')) return refuse(429, 'rate_limit_exceeded')
    if (words.has('moderated')) return refuse(400, 'content_policy_violation')
    if (words.has('reject')) return refuse(400, words.get('reject') ?? 'invalid_value', 'messages')
    const unknownReply = messages.find(({ audio }) => audio !== undefined && !served.has(audio.id))
    if (unknownReply !== undefined) return refuse(400, 'invalid_value', 'messages')
    if (words.has('hang')) return
    if (words.has('garbage')) {
      response.writeHead(200, { 'content-type': 'application/json' }).end('<html>it went fine</html>')
      return
    }

    const heard = turn.recordings.map(
      ({ format, sizeBytes, sha256 }) => `${sizeBytes} bytes of ${format} ${sha256.slice(0, 16)}`,
    )
    const earlier = messages.flatMap(({ audio }) => served.get(audio?.id ?? '') ?? [])
    const text = [
      `You said: ${said.replaceAll(/\s*vendor:\S+/g, '')}`,
      ...(heard.length > 0 ? [`I heard ${heard.join(' and ')}`] : []),
      ...(earlier.length > 0 ? [`I had said: ${earlier.join(' / ')}`] : []),
    ].join('. ')
    const count = asked.n ?? 1
    const isSpoken = asked.modalities?.includes('audio') === true
    const audioTokens = isSpoken ? 40 * count : 0
    const textTokens = Math.ceil(text.length / 4) * count
    const inputAudioTokens = turn.recordings.reduce(
      (sum, { sizeBytes }) => sum + Math.ceil(sizeBytes / 3200),
      0,
    )
    const inputTextTokens = turn.messages.reduce(
      (sum, message) => sum + Math.ceil(message.text.length / 4) + 4,
      0,
    )
    const usage = words.has('no-usage')
      ? undefined
      : {
          prompt_tokens: inputTextTokens + inputAudioTokens,
          completion_tokens: textTokens + audioTokens,
          total_tokens: inputTextTokens + inputAudioTokens + textTokens + audioTokens,
          prompt_tokens_details: { cached_tokens: 0, audio_tokens: inputAudioTokens },
          completion_tokens_details: { reasoning_tokens: 0, audio_tokens: audioTokens },
        }
    const isEmpty = words.has('too-long') || words.has('filtered')
    const reason =
      words.has('too-long') || words.has('length')
        ? 'length'
        : words.has('filtered')
          ? 'content_filter'
          : 'stop'
    const head = {
      id: `chatcmpl-vendor${randomBytes(8).toString('hex')}`,
      created: Math.floor(Date.now() / 1000),
    }
    const indexes = Array.from({ length: count }, (_, index) => index)

    if (asked.stream === true) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const send = (data: unknown) => response.write(`data: ${JSON.stringify(data)}\n\n`)
      const chunk = (choices: unknown[]) => ({
        ...head,
        object: 'chat.completion.chunk',
        model,
        choices,
        usage: null,
      })
      const delta = (index: number, given: object, finish: string | null = null) =>
        send(chunk([{ index, delta: given, finish_reason: finish }]))
      for (const index of indexes) delta(index, { role: 'assistant', content: '' })
      const chunks = isEmpty ? [] : (text.match(/\S+\s*/g) ?? [])
      for (const [place, chunk] of chunks.entries()) {
        if (place >= chunks.length / 2) {
          if (words.has('cut')) {
            turn.state = 'cut'
            response.socket?.destroy()
            return
          }
          if (words.has('stall')) return
          if (words.has('break')) {
            send({ error: { code: 'server_error', message: `${host} broke`, type: 'server_error' } })
            turn.state = 'cut'
            response.end()
            return
          }
        }
        for (const index of indexes) delta(index, { content: chunk })
        await wait(Number(words.get('pace') ?? 0))
        if (response.destroyed) return
      }
      for (const index of indexes) delta(index, {}, reason)
      if (usage !== undefined) send({ ...chunk([]), usage })
      turn.state = 'finished'
      response.end('data: [DONE]\n\n')
      return
    }

    const choices = await Promise.all(
      indexes.map(async (index) => {
        const message: Record<string, unknown> = {
          role: 'assistant',
          content: isEmpty ? null : text,
          refusal: null,
        }
        if (isSpoken && !isEmpty && !words.has('silent')) {
          const id = `audio_${randomBytes(12).toString('hex')}`
          served.set(id, text)
          const format = asked.audio?.format === 'pcm16' ? 'pcm' : (asked.audio?.format ?? 'wav')
          const sound = await soundOf(format, 0.5)
          message['content'] = null
          message['audio'] = {
            id,
            data: sound.toString('base64'),
            expires_at: head.created + 3600,
            transcript: text,
          }
        }
        return { index, message, finish_reason: reason }
      }),
    )
    const body = JSON.stringify({
      ...head,
      object: 'chat.completion',
      model,
      choices,
      ...(usage && { usage }),
    })
    turn.state = 'finished'
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) })
    response.end(body)
  }

  return { answer, turns: () => turns.map((turn) => ({ ...turn })) }
}
