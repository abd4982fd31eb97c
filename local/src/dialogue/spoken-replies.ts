import { randomUUID } from 'node:crypto'

const retentionSeconds = 3600
const mostReplies = 1000

/** The transcripts of recent spoken replies, which later messages can reference by id. */
export interface SpokenReplies {
  remember: (transcript: string) => { id: string; transcript: string; expires_at: number }
  recall: (id: string) => string | undefined
}

export function createSpokenReplies(): SpokenReplies {
  const replies = new Map<string, { transcript: string; expiresAt: number }>()
  const now = () => Math.floor(Date.now() / 1000)
  return {
    remember(transcript) {
      const oldest = replies.keys().next()
      if (replies.size >= mostReplies && oldest.done !== true) replies.delete(oldest.value)
      const id = `audio_${randomUUID()}`
      const expiresAt = now() + retentionSeconds
      replies.set(id, { transcript, expiresAt })
      return { id, transcript, expires_at: expiresAt }
    },
    recall(id) {
      const reply = replies.get(id)
      return reply === undefined || reply.expiresAt < now() ? undefined : reply.transcript
    },
  }
}
