/** A transcript told piece by piece, and seen to be paid for once it ends. */
import { ApiError, errors } from '@kinora/contract/errors'

import type { EventStream } from '../http/sse.ts'
import { withFinalizer } from '../platform/streams/with-finalizer.ts'
import type { TranscriptStream } from '../providers/port/transcription.ts'

type Chunks = TranscriptStream['chunks']

export interface TranscriptUnderWay {
  /** The first piece, which was waited for. */
  first: Awaited<ReturnType<Chunks['next']>>
  chunks: Chunks
  /** Aborted when the reader goes away. */
  signal: AbortSignal
  /** What the last event carries beside the text. */
  ending: Record<string, unknown>
  /** What a reader is told of the provider's failure. */
  problem: (error: unknown) => unknown
  settle: (outcome: 'completed' | 'aborted' | 'failed') => Promise<void>
}

/** The pieces, settled before their end is seen, however they end, even where nobody read them. */
const settled = ({
  first,
  chunks,
  signal,
  settle,
}: TranscriptUnderWay): AsyncGenerator<string, void, undefined> => {
  // A reader that leaves ends this with nothing thrown.
  let outcome: Parameters<typeof settle>[0] = 'aborted'
  async function* texts(): AsyncGenerator<string, void, undefined> {
    try {
      for (let step = first; step.done !== true; step = await chunks.next()) {
        yield step.value
      }
      outcome = 'completed'
    } catch (error) {
      if (!signal.aborted) outcome = 'failed'
      throw error
    }
  }
  return withFinalizer(texts(), async () => {
    // What goes wrong while the provider is left must not keep the hold open.
    await chunks.return().catch(() => undefined)
    await settle(outcome)
  })
}

export const transcriptEvents = (transcript: TranscriptUnderWay): EventStream => {
  const chunks = settled(transcript)
  async function* events(): EventStream {
    let text = ''
    try {
      for await (const chunk of chunks) {
        text += chunk
        yield { data: JSON.stringify({ type: 'transcript.text.delta', delta: chunk }) }
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
  return withFinalizer(events(), async () => {
    await chunks.return()
  })
}
