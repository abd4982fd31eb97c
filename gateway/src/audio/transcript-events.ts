/** A transcript told piece by piece, and seen to be paid for once it ends. */
import { ApiError, errors } from '@kinora/contract/errors'

import type { EventStream } from '../http/event-stream.ts'
import type { TranscriptStream } from '../providers/port/transcription.ts'

type Pieces = TranscriptStream['pieces']

export interface TranscriptUnderWay {
  /** The first piece, which was waited for. */
  first: Awaited<ReturnType<Pieces['next']>>
  pieces: Pieces
  /** Aborted when the reader goes away. */
  signal: AbortSignal
  /** What the last event carries beside the text. */
  ending: Record<string, unknown>
  /** What a reader is told of the provider's failure. */
  problem: (error: unknown) => unknown
  settle: (outcome: 'completed' | 'aborted' | 'failed', isHeard: boolean) => Promise<void>
}

/** The pieces, settled before their end is seen, however they end. */
async function* settled({ first, pieces, signal, settle }: TranscriptUnderWay): AsyncGenerator<string, void> {
  let isHeard = false
  // A reader that leaves ends this at its yield, with nothing thrown.
  let outcome: Parameters<typeof settle>[0] = 'aborted'
  try {
    for (let step = first; step.done !== true; step = await pieces.next()) {
      isHeard = true
      yield step.value
    }
    outcome = 'completed'
    isHeard = true
  } catch (error) {
    if (!signal.aborted) outcome = 'failed'
    throw error
  } finally {
    await pieces.return()
    await settle(outcome, isHeard)
  }
}

export async function* transcriptEvents(transcript: TranscriptUnderWay): EventStream {
  let text = ''
  try {
    for await (const piece of settled(transcript)) {
      text += piece
      yield { data: JSON.stringify({ type: 'transcript.text.delta', delta: piece }) }
    }
    yield { data: JSON.stringify({ type: 'transcript.text.done', text, ...transcript.ending }) }
  } catch (error) {
    // Nobody is left to be told.
    if (transcript.signal.aborted) return
    const problem = transcript.problem(error)
    if (!(problem instanceof ApiError)) throw error
    const { message, code } = problem
    yield { data: JSON.stringify({ error: { message, type: errors[code].type, code } }) }
  }
}
