import { randomUUID } from 'node:crypto'

const keepSeconds = 3600
const mostKept = 1000

/** What was said lately, so that a later message can name a spoken reply instead of repeating it. */
export interface SpokenReplies {
  remember: (transcript: string) => { id: string; transcript: string; expires_at: number }
  recall: (id: string) => string | undefined
}

export function createSpokenReplies(): SpokenReplies {
  const kept = new Map<string, { transcript: string; expiresAt: number }>()
  const now = () => Math.floor(Date.now() / 1000)
  return {
    remember(transcript) {
      const oldest = kept.keys().next()
      if (kept.size >= mostKept && oldest.done !== true) kept.delete(oldest.value)
      const id = `audio_${randomUUID()}`
      const expiresAt = now() + keepSeconds
      kept.set(id, { transcript, expiresAt })
      return { id, transcript, expires_at: expiresAt }
    },
    recall(id) {
      const reply = kept.get(id)
      return reply === undefined || reply.expiresAt < now() ? undefined : reply.transcript
    },
  }
}
