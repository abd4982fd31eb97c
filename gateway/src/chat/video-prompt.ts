/** What a conversation asks of a video model: the text and the pictures of the user's last message. */
import { ApiError } from '@kinora/contract/errors'
import { promptCharactersMax } from '@kinora/contract/videos'

import type { PictureSource } from '../videos/reference-picture.ts'

export interface VideoPrompt {
  prompt: string
  pictures: PictureSource[]
}

type Member = Record<string, unknown>

const invalid = (param: string, demand: string) =>
  new ApiError('invalid_parameter', { param, message: `'${param}' must be ${demand}.` })

const memberOf = (param: string, value: unknown): Member => {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Member
  throw invalid(param, 'an object')
}

const textOf = (param: string, value: unknown): string => {
  if (typeof value !== 'string') throw invalid(param, 'text')
  // A zero byte cannot be stored as text, and half of a surrogate pair is not text at all.
  if (value.includes('\0') || !value.isWellFormed()) throw invalid(param, 'well-formed text')
  return value
}

const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function']

/** The user's last message and where it stands; of the others only the shape matters. */
const lastOfUser = (messages: unknown): { param: string; content: unknown } | undefined => {
  if (!Array.isArray(messages)) throw invalid('messages', 'a list of messages')
  let last: { param: string; content: unknown } | undefined
  for (const [index, each] of messages.entries()) {
    const message = memberOf(`messages[${index}]`, each)
    const { role, content } = message
    if (typeof role !== 'string' || !roles.includes(role)) {
      throw invalid(`messages[${index}].role`, `one of ${roles.join(', ')}`)
    }
    if (role === 'user') last = { param: `messages[${index}].content`, content }
  }
  return last
}

const pictureOf = (param: string, value: unknown): PictureSource => {
  const text = typeof value === 'object' && value !== null ? (value as Member)['url'] : value
  if (typeof text === 'string' && text !== '') return { param, text }
  throw invalid(param, 'a URL or a data URI, or an object that has one as its url')
}

const readPart = (param: string, value: unknown): { text: string } | { picture: PictureSource } => {
  const part = memberOf(param, value)
  if (part['type'] === 'text') return { text: textOf(`${param}.text`, part['text']) }
  if (part['type'] === 'image_url') return { picture: pictureOf(`${param}.image_url`, part['image_url']) }
  throw invalid(`${param}.type`, 'text or image_url for a video model')
}

const readContent = (param: string, content: unknown) => {
  if (content === undefined || content === null) return { texts: [], pictures: [] }
  if (typeof content === 'string') return { texts: [textOf(param, content)], pictures: [] }
  if (!Array.isArray(content)) throw invalid(param, 'text or a list of parts')
  const parts = content.map((part, index) => readPart(`${param}[${index}]`, part))
  return {
    texts: parts.flatMap((part) => ('text' in part ? part.text : [])),
    pictures: parts.flatMap((part) => ('picture' in part ? part.picture : [])),
  }
}

export const readVideoPrompt = (messages: unknown, picturesMax: number): VideoPrompt => {
  const message = lastOfUser(messages)
  const { texts, pictures } = readContent(message?.param ?? 'messages', message?.content)
  const prompt = texts.join('')
  if (message === undefined || prompt.trim() === '') {
    throw new ApiError('missing_parameter', {
      param: 'messages',
      message: "The last message of the user in 'messages' has no text to make a video of.",
    })
  }
  const length = [...prompt].length
  if (length > promptCharactersMax) {
    throw invalid(message.param, `at most ${promptCharactersMax} characters long (got ${length})`)
  }
  if (pictures.length > picturesMax) {
    throw invalid(message.param, `given at most ${picturesMax} pictures (got ${pictures.length})`)
  }
  return { prompt, pictures }
}
