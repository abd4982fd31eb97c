import type { ChatMessage, ChatPart } from './chat-order.ts'
import { DialogueRefusal } from './dialogue-refusal.ts'
import type { Turn } from './dialogue-task.ts'
import type { SpokenReplies } from './spoken-replies.ts'

/** Writes down what is said in a file; its refusals are passed on to whoever sent it. */
export type Recognise = (
  path: string,
  signal: AbortSignal,
) => Promise<{ text: string; durationSeconds: number }>

export type Hear = (messages: ChatMessage[], signal: AbortSignal) => Promise<Turn[]>

/** Makes text of a conversation that is partly sound. */
export function createHearing(recognise: Recognise, spokenReplies: SpokenReplies): Hear {
  async function hearPart(part: ChatPart, signal: AbortSignal): Promise<Omit<Turn, 'role'>> {
    if (part.kind === 'text') return { text: part.text, written: part.text, heardSeconds: 0 }
    if (part.kind === 'earlier') {
      const transcript = spokenReplies.recall(part.id)
      if (transcript === undefined) {
        throw new DialogueRefusal(
          400,
          'invalid_parameter',
          'This spoken reply is no longer known.',
          part.param,
        )
      }
      return { text: transcript, written: transcript, heardSeconds: 0 }
    }
    const { text, durationSeconds } = await recognise(part.sound.path, signal).catch((error: unknown) => {
      throw refusal(error, part.param) ?? error
    })
    return { text: text.trim(), written: '', heardSeconds: durationSeconds }
  }

  return async (messages, signal) => {
    const turns: Turn[] = []
    for (const { role, parts } of messages) {
      const heard: Omit<Turn, 'role'>[] = []
      for (const part of parts) {
        signal.throwIfAborted()
        heard.push(await hearPart(part, signal))
      }
      turns.push({
        role,
        text: joined(heard.map(({ text }) => text)),
        written: joined(heard.map(({ written }) => written)),
        heardSeconds: heard.reduce((sum, { heardSeconds }) => sum + heardSeconds, 0),
      })
    }
    return turns
  }
}

function joined(texts: string[]): string {
  return texts.filter((text) => text !== '').join('\n')
}

/** What a caller can do something about, with the place of the sound it is about. */
function refusal(error: unknown, param: string): DialogueRefusal | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  const { code, message } = error
  if (code === 'invalid_file_format') return new DialogueRefusal(400, code, message, param)
  if (code === 'weights_missing') return new DialogueRefusal(503, code, message)
  return undefined
}
