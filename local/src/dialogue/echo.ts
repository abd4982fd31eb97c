import type { ReplySettings } from './chat-order.ts'
import type { DialogueChunk, Turn } from './dialogue-task.ts'

const mostCharacters = 500

/** Up to four characters and the space before them, which is about what the tokens of a model come to. */
const echoTokens = (text: string): string[] => text.match(/\s?\S{1,4}|\s+/gu) ?? []

/** What answers where the model was not pulled. It says what it is, and is limited and counted like a model. */
export async function* echo(
  turns: Turn[],
  { choices, maxTokens = Infinity }: Pick<ReplySettings, 'choices' | 'maxTokens'>,
): AsyncGenerator<DialogueChunk, void, undefined> {
  const heard = turns.findLast(({ role }) => role === 'user')?.text ?? ''
  const characters = [...heard]
  const shown = characters.slice(0, mostCharacters).join('') + (characters.length > mostCharacters ? '…' : '')
  const whole = echoTokens(`Local echo model: I heard: «${shown}»`)
  const said = whole.slice(0, maxTokens)
  const reason = said.length < whole.length ? 'length' : 'stop'
  yield {
    kind: 'read',
    textTokens: turns.reduce((sum, { written }) => sum + echoTokens(written).length, 0),
    heardSeconds: turns.reduce((sum, { heardSeconds }) => sum + heardSeconds, 0),
  }
  for (let choice = 0; choice < choices; choice++) {
    for (const [index, text] of said.entries()) yield { kind: 'text', choice, text, tokens: index + 1 }
    yield { kind: 'end', choice, reason, tokens: said.length }
  }
}
