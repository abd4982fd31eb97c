import type { ChatMessage, ChatPart } from './chat-order.ts'
import { DialogueRefusal } from './dialogue-refusal.ts'
import type { PromptMessage } from './dialogue-task.ts'
import type { SpokenReplies } from './spoken-replies.ts'

/** Transcribes the speech in a file. Errors with a known code are passed on to the client. */
export type Recognise = (
  path: string,
  signal: AbortSignal,
) => Promise<{ text: string; durationSeconds: number }>

export type TranscribeMessages = (messages: ChatMessage[], signal: AbortSignal) => Promise<PromptMessage[]>

/** Converts a conversation that contains audio to text. */
export function createMessageTranscriber(
  recognise: Recognise,
  spokenReplies: SpokenReplies,
): TranscribeMessages {
  async function transcribePart(part: ChatPart, signal: AbortSignal): Promise<Omit<PromptMessage, 'role'>> {
    if (part.kind === 'text') return { text: part.text, written: part.text, audioSeconds: 0 }
    if (part.kind === 'earlier') {
      const transcript = spokenReplies.recall(part.id)
      if (transcript === undefined) {
        throw new DialogueRefusal(
          400,
          'invalid_parameter',
          'This spoken reply has expired or does not exist. Send its text instead.',
          part.param,
        )
      }
      return { text: transcript, written: transcript, audioSeconds: 0 }
    }
    const { text, durationSeconds } = await recognise(part.sound.path, signal).catch((error: unknown) => {
      throw refusal(error, part.param) ?? error
    })
    return { text: text.trim(), written: '', audioSeconds: durationSeconds }
  }

  return async (messages, signal) => {
    const promptMessages: PromptMessage[] = []
    for (const { role, parts } of messages) {
      const transcribed: Omit<PromptMessage, 'role'>[] = []
      for (const part of parts) {
        signal.throwIfAborted()
        transcribed.push(await transcribePart(part, signal))
      }
      promptMessages.push({
        role,
        text: joined(transcribed.map(({ text }) => text)),
        written: joined(transcribed.map(({ written }) => written)),
        audioSeconds: transcribed.reduce((sum, { audioSeconds }) => sum + audioSeconds, 0),
      })
    }
    return promptMessages
  }
}

function joined(texts: string[]): string {
  return texts.filter((text) => text !== '').join('\n')
}

/** The refusal for an error that the client can act on, with the position of the audio in the request. */
function refusal(error: unknown, param: string): DialogueRefusal | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  const { code, message } = error
  if (code === 'invalid_file_format') return new DialogueRefusal(400, code, message, param)
  if (code === 'weights_missing') return new DialogueRefusal(503, code, message)
  return undefined
}
