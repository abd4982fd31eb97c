import type { DialoguePiece, Turn } from './dialogue-task.ts'

const mostCharacters = 500

/**
 * What answers where the model was not pulled. It says what it is, and counts no tokens because it has none: settings
 * that are about tokens mean nothing to it.
 */
export async function* echo(turns: Turn[], choices: number): AsyncGenerator<DialoguePiece, void, undefined> {
  const heard = turns.findLast(({ role }) => role === 'user')?.text ?? ''
  const characters = [...heard]
  const shown = characters.slice(0, mostCharacters).join('') + (characters.length > mostCharacters ? '…' : '')
  const words = `Local echo model: I heard: «${shown}»`.split(/(?<= )/u)
  for (let choice = 0; choice < choices; choice++) {
    for (const text of words) yield { kind: 'text', choice, text }
    yield { kind: 'end', choice, reason: 'stop', tokens: 0 }
  }
}
