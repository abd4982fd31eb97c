/** Reads the prompt of a video from a conversation: the text and the images of the last user message. */
import { ApiError } from '@kinora/contract/errors'
import { promptCharactersMax } from '@kinora/contract/operations/video-fields'

import type { Call } from '../http/call.ts'
import { imageFrom, type ImageSource } from '../videos/images/reference-image.ts'
import { assertWellFormed, invalid, memberOf } from './read-member.ts'

export interface VideoPrompt {
  prompt: string
  images: ImageSource[]
}

type LongText = Call['longText']

const tooLong = (param: string, got: string) =>
  invalid(param, `at most ${promptCharactersMax} characters long${got}`)

const missing = (message: string) => new ApiError('missing_parameter', { param: 'messages', message })

const textOf = async (param: string, value: unknown, longText: LongText): Promise<string> => {
  const spooled = longText(value)
  if (typeof value !== 'string' && spooled === undefined) throw invalid(param, 'text')
  // A character has at most four bytes.
  if (spooled !== undefined && spooled.sizeBytes > promptCharactersMax * 4) throw tooLong(param, '')
  if (spooled?.isWellFormed === false) throw invalid(param, 'well-formed text')
  const text = (await spooled?.read()) ?? (value as string)
  assertWellFormed(param, text)
  return text
}

const roles = ['system', 'developer', 'user', 'assistant', 'tool', 'function']

/** The last user message and its position. The other messages are only validated. */
const lastUserMessage = (messages: unknown): { param: string; content: unknown } | undefined => {
  if (!Array.isArray(messages)) throw invalid('messages', 'a list of messages')
  if (messages.length === 0) throw missing("'messages' is empty.")
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

const imageOf = (param: string, value: unknown, longText: LongText): Promise<ImageSource> => {
  const text = typeof value === 'object' && value !== null && 'url' in value ? value.url : value
  const source = imageFrom(param, text, longText)
  if (source === undefined) throw invalid(param, 'a URL or a data URI, or an object that has one as its url')
  return source
}

const readPart = async (
  param: string,
  value: unknown,
  longText: LongText,
): Promise<{ text: string } | { image: ImageSource }> => {
  const part = memberOf(param, value)
  if (part['type'] === 'text') return { text: await textOf(`${param}.text`, part['text'], longText) }
  if (part['type'] === 'image_url') {
    return { image: await imageOf(`${param}.image_url`, part['image_url'], longText) }
  }
  throw invalid(`${param}.type`, 'text or image_url for a video model')
}

const readContent = async (param: string, content: unknown, longText: LongText) => {
  const texts: string[] = []
  const images: ImageSource[] = []
  if (content === undefined || content === null) return { texts, images }
  if (typeof content === 'string' || longText(content) !== undefined)
    return { texts: [await textOf(param, content, longText)], images }
  if (!Array.isArray(content)) throw invalid(param, 'text or a list of parts')
  for (const [index, value] of content.entries()) {
    const part = await readPart(`${param}[${index}]`, value, longText)
    if ('text' in part) texts.push(part.text)
    else images.push(part.image)
  }
  return { texts, images }
}

export const readVideoPrompt = async (
  { fields, longText }: Pick<Call, 'fields' | 'longText'>,
  imagesMax: number,
): Promise<VideoPrompt> => {
  const message = lastUserMessage(fields.value('messages'))
  const { texts, images } = await readContent(message?.param ?? 'messages', message?.content, longText)
  const prompt = texts.join('')
  if (message === undefined || prompt.trim() === '') {
    throw missing("The last user message in 'messages' must contain the text of the prompt.")
  }
  const length = [...prompt].length
  if (length > promptCharactersMax) throw tooLong(message.param, ` (got ${length})`)
  if (images.length > imagesMax) {
    throw invalid(message.param, `a list with at most ${imagesMax} images (got ${images.length})`)
  }
  return { prompt, images }
}
