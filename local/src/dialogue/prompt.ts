import { RefusedTask } from '../inference/serve-inference.ts'
import type { PromptMessage } from './dialogue-task.ts'

/** Used if the conversation has no instructions, because without any the model rambles. */
const defaultInstructions = 'You are a friendly chatbot.'

/** The length of the longest token. Texts that exceed the limit at this ratio need not be encoded. */
const mostCharactersPerToken = 16

/** The part of the model's vocabulary that prompts use. */
export interface Vocabulary {
  begin: number
  end: number
  /** Special tokens in the text are encoded as plain text. */
  encode: (text: string) => Iterable<number>
}

export interface Prompt {
  tokens: number[]
  /** The number of tokens without transcribed audio. */
  writtenTokens: number
  audioSeconds: number
}

/**
 * Writes a conversation in the format that the model was trained on, with at most `maxTokens` tokens. Instructions and
 * the last message are always included. Of the others, the oldest are dropped first.
 */
export function writePrompt(messages: PromptMessage[], maxTokens: number, vocabulary: Vocabulary): Prompt {
  const all = messages.some(({ role }) => role === 'system')
    ? messages
    : [instruction(defaultInstructions), ...messages]
  const included = new Set<PromptMessage>()
  let left = maxTokens - write([], 'text', vocabulary).length

  const include = (message: PromptMessage): boolean => {
    if (message.text.length > left * mostCharactersPerToken) return false
    const size = writeMessage(message.role, message.text, vocabulary).length
    if (size > left) return false
    left -= size
    included.add(message)
    return true
  }
  const last = all.at(-1)
  const needed = all.filter((message) => message.role === 'system' || message === last)
  if (!needed.every(include)) {
    throw new RefusedTask(
      'context_length_exceeded',
      `The instructions and the last message exceed the limit of ${maxTokens} tokens. Shorten them.`,
    )
  }
  for (const message of all.toReversed()) if (!included.has(message) && !include(message)) break

  const read = all.filter((message) => included.has(message))
  return {
    tokens: write(read, 'text', vocabulary),
    writtenTokens: write(read, 'written', vocabulary).length,
    audioSeconds: read.reduce((sum, message) => sum + message.audioSeconds, 0),
  }
}

function write(messages: PromptMessage[], words: 'text' | 'written', vocabulary: Vocabulary): number[] {
  return [
    vocabulary.begin,
    ...messages.flatMap((message, index) =>
      writeMessage(message.role, message[words], vocabulary, index === 0 ? '' : '\n'),
    ),
    ...vocabulary.encode('\n<|assistant|>\n'),
  ]
}

function writeMessage(
  role: PromptMessage['role'],
  text: string,
  vocabulary: Vocabulary,
  before = '\n',
): number[] {
  return [...vocabulary.encode(`${before}<|${role}|>\n${text}`), vocabulary.end]
}

function instruction(text: string): PromptMessage {
  return { role: 'system', text, written: text, audioSeconds: 0 }
}
