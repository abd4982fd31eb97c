/** Parses audio chat requests. Errors name the exact place, such as `messages[0].content[1].text`. */
import { ApiError } from '@kinora/contract/errors'
import { DialogueBody, inputAudioFormats, replyAudioFormats } from '@kinora/contract/operations/chat'
import { Type } from 'typebox'

import type { Fields } from '../http/body/fields.ts'
import type { Call } from '../http/call.ts'
import type { ChatModel } from '../models/model.ts'
import { voiceNames } from '../models/voice.ts'
import type { DialogueMessage } from '../providers/port/dialogue.ts'
import { assertWellFormed, empty, invalid, memberOf, missing, type Member } from './read-member.ts'
import type { SentRecording } from './recordings.ts'

type ParsedPart = { kind: 'text'; text: string } | { kind: 'audio'; sent: SentRecording }

export interface ParsedMessage {
  role: DialogueMessage['role']
  content: string | ParsedPart[]
  /** The public id of an earlier audio reply. */
  replyId: { param: string; id: string } | undefined
}

/** No text of words has that many bytes per token on average, so a longer text is refused without counting tokens. */
const bytesPerTokenMax = 32
const stopsMax = 4
const stopLengthMax = 256

export const tooLong = ({ name, contextTokens }: ChatModel) =>
  new ApiError('context_length_exceeded', {
    param: 'messages',
    message: `The messages are longer than the context of '${name}', which is ${contextTokens} tokens.`,
  })

const isObject = (value: unknown): value is Member => typeof value === 'object' && value !== null

/** Whether a request uses audio, even with invalid parameters: some keys may not send such requests at all. */
export const usesAudio = (fields: Fields): boolean => {
  const modalities = fields.value('modalities')
  const messages = fields.value('messages')
  const hasAudio = (message: unknown): boolean => {
    if (!isObject(message)) return false
    const { content, audio } = message
    const parts: unknown[] = Array.isArray(content) ? content : []
    return (
      (audio !== undefined && audio !== null) ||
      parts.some((part) => isObject(part) && part['type'] === 'input_audio')
    )
  }
  return (
    fields.value('audio') !== undefined ||
    (Array.isArray(modalities) ? modalities.includes('audio') : modalities === 'audio') ||
    (Array.isArray(messages) && messages.some(hasAudio))
  )
}

const roles = ['system', 'developer', 'user', 'assistant'] as const
const isRole = (role: unknown): role is ParsedMessage['role'] => roles.some((each) => each === role)

/** Parses messages. The length limit applies to the sum of all texts. */
export const readMessages = async (
  { fields, longText }: Pick<Call, 'fields' | 'longText'>,
  model: ChatModel,
): Promise<ParsedMessage[]> => {
  let textBytes = 0

  const readText = async (param: string, value: unknown): Promise<string> => {
    const spooled = longText(value)
    if (typeof value !== 'string' && spooled === undefined) throw invalid(param, 'text')
    textBytes += spooled?.sizeBytes ?? Buffer.byteLength(value as string)
    if (textBytes > model.contextTokens * bytesPerTokenMax) throw tooLong(model)
    if (spooled?.isWellFormed === false) throw invalid(param, 'well-formed text')
    const text = (await spooled?.read()) ?? (value as string)
    assertWellFormed(param, text)
    return text
  }

  const readRecording = (param: string, value: unknown): SentRecording => {
    if (value === undefined || value === null) throw missing(param)
    const { data, format } = memberOf(param, value)
    if (format === undefined || format === null) throw missing(`${param}.format`)
    const known = inputAudioFormats.find((each) => each === format)
    if (known === undefined) {
      throw new ApiError('invalid_file_format', {
        param: `${param}.format`,
        message: `'${param}.format' must be ${inputAudioFormats.join(' or ')}.`,
      })
    }
    if (data === undefined || data === null) throw missing(`${param}.data`)
    if (data === '') throw empty(`${param}.data`)
    const text = longText(data) ?? (typeof data === 'string' ? data : undefined)
    if (text === undefined) throw invalid(`${param}.data`, 'base64 text')
    return { param: `${param}.data`, format: known, data: text }
  }

  const readPart = async (param: string, value: unknown, role: string): Promise<ParsedPart> => {
    const part = memberOf(param, value)
    if (part['type'] === 'text') {
      return { kind: 'text', text: await readText(`${param}.text`, part['text']) }
    }
    if (part['type'] === 'input_audio' && role === 'user') {
      return { kind: 'audio', sent: readRecording(`${param}.input_audio`, part['input_audio']) }
    }
    throw invalid(
      `${param}.type`,
      role === 'user' ? 'text or input_audio' : `text in a message with role ${role}`,
    )
  }

  const readContent = async (param: string, value: unknown, role: string): Promise<string | ParsedPart[]> => {
    if (typeof value === 'string' || longText(value) !== undefined) return readText(param, value)
    if (!Array.isArray(value)) throw invalid(param, 'text or a list of parts')
    const parts: ParsedPart[] = []
    for (const [index, part] of value.entries()) parts.push(await readPart(`${param}[${index}]`, part, role))
    return parts
  }

  const readReplyId = (param: string, value: unknown): ParsedMessage['replyId'] => {
    if (value === undefined || value === null) return undefined
    const { id } = memberOf(param, value)
    if (typeof id !== 'string' || id === '') throw invalid(`${param}.id`, 'the id of an audio reply')
    return { param: `${param}.id`, id }
  }

  const readMessage = async (param: string, value: unknown): Promise<ParsedMessage> => {
    const { role, content, audio } = memberOf(param, value)
    if (!isRole(role)) throw invalid(`${param}.role`, `one of ${roles.join(', ')}`)
    const replyId = role === 'assistant' ? readReplyId(`${param}.audio`, audio) : undefined
    const isEmpty =
      content === undefined || content === null || (Array.isArray(content) && content.length === 0)
    if (isEmpty && replyId === undefined) throw missing(`${param}.content`)
    return { role, content: isEmpty ? '' : await readContent(`${param}.content`, content, role), replyId }
  }

  const given = fields.value('messages')
  if (!Array.isArray(given)) throw invalid('messages', 'a list of messages')
  if (given.length === 0) throw empty('messages')
  const messages: ParsedMessage[] = []
  for (const [index, message] of given.entries()) {
    messages.push(await readMessage(`messages[${index}]`, message))
  }
  return messages
}

const readVoice = (given: unknown, { name: model, voices: known }: ChatModel): string => {
  const voices = voiceNames(known)
  const name = isObject(given) ? given['id'] : given
  if (name === undefined || name === null || name === '') throw missing('audio.voice')
  if (typeof name !== 'string') throw invalid('audio.voice', `the name of a voice: ${voices.join(', ')}`)
  if (voices.includes(name)) return name
  throw new ApiError('voice_not_supported', {
    param: 'audio.voice',
    message: `'${name.slice(0, 60)}' is not a voice of ${model}. Use one of: ${voices.join(', ')}.`,
  })
}

/** Voice and format of an audio reply; undefined for a text reply. */
export const readReplyAudio = (
  fields: Fields,
  model: ChatModel,
): { voice: string; format: string } | undefined => {
  const modalities = fields.value('modalities') ?? ['text']
  const isKnown = (each: unknown) => each === 'text' || each === 'audio'
  if (!Array.isArray(modalities) || modalities.length === 0 || !modalities.every(isKnown)) {
    throw invalid('modalities', '["text"] or ["text", "audio"]')
  }
  const given = fields.value('audio')
  if (given === undefined) {
    if (modalities.includes('audio')) throw missing('audio')
    return undefined
  }
  const { voice, format } = memberOf('audio', given)
  const named = readVoice(voice, model)
  if (format === undefined || format === null || format === '') throw missing('audio.format')
  const known = replyAudioFormats.find((each) => each === format)
  if (known === undefined) throw invalid('audio.format', `one of ${replyAudioFormats.join(', ')}`)
  return modalities.includes('audio') ? { voice: named, format: known } : undefined
}

export const readStops = (fields: Fields): string[] | undefined => {
  const given = fields.value('stop')
  if (given === undefined) return undefined
  const stops: unknown[] = Array.isArray(given) ? given : [given]
  const isStop = (stop: unknown): stop is string =>
    typeof stop === 'string' && stop !== '' && stop.length <= stopLengthMax && stop.isWellFormed()
  if (stops.length > stopsMax || !stops.every(isStop)) {
    throw invalid('stop', `a text or a list of at most ${stopsMax}, each of 1 to ${stopLengthMax} characters`)
  }
  return stops.length === 0 ? undefined : stops
}

export const readWantsUsage = (fields: Fields): boolean => {
  const given = fields.value('stream_options')
  if (given === undefined) return false
  const wanted = memberOf('stream_options', given)['include_usage'] ?? false
  if (typeof wanted === 'boolean') return wanted
  throw invalid('stream_options.include_usage', 'true or false')
}

/** The request schema with the model's token limit. */
export const chatAudioBodyFor = ({ outputTokensMax }: ChatModel) => {
  const tokens = Type.Optional(Type.Integer({ minimum: 1, maximum: outputTokensMax }))
  return Type.Object({ ...DialogueBody.properties, max_tokens: tokens, max_completion_tokens: tokens })
}
