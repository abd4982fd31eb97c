import type { ReplySettings } from './chat-order.ts'
import type { DialogueChunk, PromptMessage } from './dialogue-task.ts'

const mostCharacters = 500

/** Up to four characters and the space before them, similar to the tokens of a model. */
const echoTokens = (text: string): string[] => text.match(/\s?\S{1,4}|\s+/gu) ?? []

/** Replaces the model if it was not pulled. The reply is labelled as an echo, and limited and counted like a model's. */
export async function* echo(
  messages: PromptMessage[],
  { choices, maxTokens = Infinity }: Pick<ReplySettings, 'choices' | 'maxTokens'>,
): AsyncGenerator<DialogueChunk, void, undefined> {
  const lastInput = messages.findLast(({ role }) => role === 'user')?.text ?? ''
  const characters = [...lastInput]
  const shown = characters.slice(0, mostCharacters).join('') + (characters.length > mostCharacters ? '…' : '')
  const whole = echoTokens(`Local echo model: I heard: «${shown}»`)
  const said = whole.slice(0, maxTokens)
  const reason = said.length < whole.length ? 'length' : 'stop'
  yield {
    kind: 'read',
    textTokens: messages.reduce((sum, { written }) => sum + echoTokens(written).length, 0),
    audioSeconds: messages.reduce((sum, { audioSeconds }) => sum + audioSeconds, 0),
  }
  for (let choice = 0; choice < choices; choice++) {
    for (const [index, text] of said.entries()) yield { kind: 'text', choice, text, tokens: index + 1 }
    yield { kind: 'end', choice, reason, tokens: said.length }
  }
}
