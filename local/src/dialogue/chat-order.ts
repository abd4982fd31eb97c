import { DialogueRefusal } from './dialogue-refusal.ts'
import type { ReceivedChat, ReceivedSound } from './receive-chat.ts'

export const dialogueModel = 'chat-4o-audio-preview'

const mostMessages = 2000
const mostChoices = 128
const mostStops = 4
/** Lower than usual, because this small model becomes incoherent at higher temperatures. */
const defaultTemperature = 0.3
const roles = { system: 'system', developer: 'system', user: 'user', assistant: 'assistant' } as const
const soundFormats = ['wav', 'mp3']
const speechFormats = ['wav', 'mp3', 'flac', 'opus', 'aac', 'pcm16']

export type ChatPart =
  | { kind: 'text'; text: string }
  | { kind: 'sound'; sound: ReceivedSound; param: string }
  /** A reference to an earlier spoken reply. */
  | { kind: 'earlier'; id: string; param: string }

export interface ChatMessage {
  role: 'system' | 'user' | 'assistant'
  parts: ChatPart[]
}

/** The sampling settings of a reply. */
export interface ReplySettings {
  choices: number
  /** Limit of text and audio tokens together, for each choice. Undefined if the request sets none. */
  maxTokens: number | undefined
  temperature: number
  topP: number
  frequencyPenalty: number
  presencePenalty: number
  stops: string[]
  seed: number | undefined
}

export interface ChatOrder {
  messages: ChatMessage[]
  settings: ReplySettings
  /** Undefined if the reply is text only. */
  speech: { voice: string; format: string } | undefined
  stream: boolean
  streamUsage: boolean
}

type Fields = Record<string, unknown>

/** Reads the order from a request body. Throws a refusal if the body is invalid. */
export function readChatOrder({ body, soundAt }: ReceivedChat): ChatOrder {
  if (!isFields(body)) throw new DialogueRefusal(400, 'invalid_request', 'The body must be a JSON object.')
  if (body['model'] !== dialogueModel) {
    throw new DialogueRefusal(
      404,
      'model_not_found',
      `The model does not exist. Use ${dialogueModel}.`,
      'model',
    )
  }
  const stream = flag(body, 'stream')
  const speech = readSpeech(body)
  if (stream && speech !== undefined)
    throw wrong('stream', 'A spoken reply cannot be streamed. Leave out stream, or request only text.')
  return {
    messages: readMessages(body['messages'], soundAt),
    settings: readSettings(body),
    speech,
    stream,
    streamUsage: isFields(body['stream_options']) && flag(body['stream_options'], 'include_usage'),
  }
}

function readSettings(body: Fields): ReplySettings {
  const asked = number(body, 'max_completion_tokens', 1, Infinity) ?? number(body, 'max_tokens', 1, Infinity)
  const seed = number(body, 'seed', -Infinity, Infinity)
  return {
    choices: whole('n', number(body, 'n', 1, mostChoices) ?? 1),
    maxTokens: asked === undefined ? undefined : whole('max_tokens', asked),
    temperature: number(body, 'temperature', 0, 2) ?? defaultTemperature,
    topP: number(body, 'top_p', 0, 1) ?? 1,
    frequencyPenalty: number(body, 'frequency_penalty', -2, 2) ?? 0,
    presencePenalty: number(body, 'presence_penalty', -2, 2) ?? 0,
    stops: readStops(body['stop']),
    seed: seed === undefined ? undefined : whole('seed', seed),
  }
}

function readStops(value: unknown): string[] {
  if (value === undefined || value === null) return []
  const stops: unknown[] = Array.isArray(value) ? value : [value]
  if (stops.length > mostStops) throw wrong('stop', `At most ${mostStops} stop sequences are allowed.`)
  return stops.map((stop) => {
    if (typeof stop !== 'string' || stop === '')
      throw wrong('stop', 'A stop sequence must be a string that is not empty.')
    return stop
  })
}

function readSpeech(body: Fields): ChatOrder['speech'] {
  const modalities = body['modalities'] ?? ['text']
  if (!Array.isArray(modalities) || !modalities.every((value) => value === 'text' || value === 'audio')) {
    throw wrong('modalities', 'modalities must be a list of "text" and "audio".')
  }
  if (!modalities.includes('audio')) return undefined
  const audio = body['audio']
  if (!isFields(audio)) throw wrong('audio', 'A spoken reply requires "audio" with a voice and a format.')
  const { voice, format } = audio
  if (typeof voice !== 'string' || voice === '') throw wrong('audio.voice', 'The voice is missing.')
  if (typeof format !== 'string' || !speechFormats.includes(format)) {
    throw wrong('audio.format', `The format must be one of ${speechFormats.join(', ')}.`)
  }
  return { voice, format }
}

function readMessages(value: unknown, soundAt: ReceivedChat['soundAt']): ChatMessage[] {
  if (!Array.isArray(value) || value.length === 0) {
    throw wrong('messages', 'There must be at least one message.')
  }
  if (value.length > mostMessages) throw wrong('messages', `At most ${mostMessages} messages are allowed.`)
  return value.map((message: unknown, index) => readMessage(message, `messages[${index}]`, soundAt))
}

function readMessage(message: unknown, param: string, soundAt: ReceivedChat['soundAt']): ChatMessage {
  if (!isFields(message)) throw wrong(param, 'A message must be an object.')
  const { role, content, audio } = message
  if (typeof role !== 'string' || !isRole(role)) {
    throw wrong(`${param}.role`, `The role must be one of ${Object.keys(roles).join(', ')}.`)
  }
  if (typeof content === 'string') return { role: roles[role], parts: [{ kind: 'text', text: content }] }
  if (role === 'assistant' && isFields(audio) && typeof audio['id'] === 'string') {
    return { role, parts: [{ kind: 'earlier', id: audio['id'], param: `${param}.audio.id` }] }
  }
  if (!Array.isArray(content) || content.length === 0) {
    throw wrong(`${param}.content`, 'The content must be text or a list of parts.')
  }
  const parts = content.map((part: unknown, index) => readPart(part, `${param}.content[${index}]`, soundAt))
  return { role: roles[role], parts }
}

function readPart(part: unknown, param: string, soundAt: ReceivedChat['soundAt']): ChatPart {
  if (isFields(part) && part['type'] === 'text' && typeof part['text'] === 'string') {
    return { kind: 'text', text: part['text'] }
  }
  if (!isFields(part) || part['type'] !== 'input_audio' || !isFields(part['input_audio'])) {
    throw wrong(`${param}.type`, 'A part must be "text" with a text, or "input_audio" with audio data.')
  }
  const { data, format } = part['input_audio']
  if (typeof format !== 'string' || !soundFormats.includes(format)) {
    throw wrong(`${param}.input_audio.format`, `The format must be one of ${soundFormats.join(', ')}.`)
  }
  const where = `${param}.input_audio.data`
  const sound = soundAt(data)
  if (sound === undefined || !sound.readable) throw wrong(where, 'The audio must be valid base64.')
  if (sound.sizeBytes === 0) throw wrong(where, 'The audio is empty.')
  return { kind: 'sound', sound, param: where }
}

function number(fields: Fields, name: string, least: number, most: number): number | undefined {
  const value = fields[name]
  if (value === undefined || value === null) return undefined
  if (typeof value !== 'number' || value < least || value > most) {
    throw wrong(name, `${name} must be a number${most === Infinity ? '' : ` from ${least} to ${most}`}.`)
  }
  return value
}

function whole(name: string, value: number): number {
  if (!Number.isInteger(value)) throw wrong(name, `${name} must be a whole number.`)
  return value
}

function flag(fields: Fields, name: string): boolean {
  const value = fields[name] ?? false
  if (typeof value !== 'boolean') throw wrong(name, `${name} must be true or false.`)
  return value
}

function wrong(param: string, message: string): DialogueRefusal {
  return new DialogueRefusal(400, 'invalid_parameter', message, param)
}

function isRole(role: string): role is keyof typeof roles {
  return Object.hasOwn(roles, role)
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
