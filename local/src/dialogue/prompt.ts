import { RefusedTask } from '../inference/serve-inference.ts'
import type { Turn } from './dialogue-task.ts'

/** Used where the conversation brings no instructions of its own: without any the model rambles. */
const defaultInstructions = 'You are a friendly chatbot.'

/** No token of the vocabulary stands for more characters, so that longer texts need not be looked at. */
const mostCharactersPerToken = 16

/** What a prompt needs of the model's vocabulary. */
export interface Vocabulary {
  begin: number
  end: number
  /** Marks of the vocabulary that stand in the text are taken as text. */
  encode: (text: string) => Iterable<number>
}

export interface Prompt {
  tokens: number[]
  /** How many tokens there would be without what was only heard. */
  writtenTokens: number
  heardSeconds: number
}

/**
 * The conversation as the model was trained to read it, in at most `room` tokens. Instructions and the last message are
 * always kept; of the others the oldest go first.
 */
export function writePrompt(turns: Turn[], room: number, vocabulary: Vocabulary): Prompt {
  const all = turns.some(({ role }) => role === 'system')
    ? turns
    : [instruction(defaultInstructions), ...turns]
  const kept = new Set<Turn>()
  let left = room - write([], 'text', vocabulary).length

  const keep = (turn: Turn): boolean => {
    if (turn.text.length > left * mostCharactersPerToken) return false
    const size = writeTurn(turn.role, turn.text, vocabulary).length
    if (size > left) return false
    left -= size
    kept.add(turn)
    return true
  }
  const last = all.at(-1)
  const needed = all.filter((turn) => turn.role === 'system' || turn === last)
  if (!needed.every(keep)) {
    throw new RefusedTask(
      'context_length_exceeded',
      `The instructions and the last message are longer than the ${room} tokens there is room for.`,
    )
  }
  for (const turn of all.toReversed()) if (!kept.has(turn) && !keep(turn)) break

  const read = all.filter((turn) => kept.has(turn))
  return {
    tokens: write(read, 'text', vocabulary),
    writtenTokens: write(read, 'written', vocabulary).length,
    heardSeconds: read.reduce((sum, turn) => sum + turn.heardSeconds, 0),
  }
}

function write(turns: Turn[], words: 'text' | 'written', vocabulary: Vocabulary): number[] {
  return [
    vocabulary.begin,
    ...turns.flatMap((turn, index) => writeTurn(turn.role, turn[words], vocabulary, index === 0 ? '' : '\n')),
    ...vocabulary.encode('\n<|assistant|>\n'),
  ]
}

function writeTurn(role: Turn['role'], text: string, vocabulary: Vocabulary, before = '\n'): number[] {
  return [...vocabulary.encode(`${before}<|${role}|>\n${text}`), vocabulary.end]
}

function instruction(text: string): Turn {
  return { role: 'system', text, written: text, heardSeconds: 0 }
}
