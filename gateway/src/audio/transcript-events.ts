/** Streams a transcript as server-sent events, and settles its hold when the stream ends. */
import { ApiError } from '@kinora/contract/errors'

import type { Call } from '../http/call.ts'
import type { EventStream } from '../http/sse.ts'
import { withFinalizer } from '../platform/streams/with-finalizer.ts'
import type { TranscriptStream } from '../providers/port/transcription.ts'

type Chunks = TranscriptStream['chunks']

export interface TranscriptUnderWay {
  /** The first chunk, which the caller has already read from `chunks`. */
  first: Awaited<ReturnType<Chunks['next']>>
  chunks: Chunks
  /** Aborted when the client disconnects. */
  signal: AbortSignal
  /** Additional fields of the last event. */
  ending: Record<string, unknown>
  /** The client's error for a provider failure. */
  problem: (error: unknown) => unknown
  writeError: Call['writeError']
  settle: (outcome: 'completed' | 'aborted' | 'failed') => Promise<void>
}

/** The chunks. The hold is settled before the consumer sees the end, even if the stream was never read. */
const settled = ({
  first,
  chunks,
  signal,
  settle,
}: TranscriptUnderWay): AsyncGenerator<string, void, undefined> => {
  // A consumer that stops reading ends the generator without an error.
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
    // An error on closing the provider's stream must not leave the hold open.
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
      if (transcript.signal.aborted) return
      const problem = transcript.problem(error)
      if (!(problem instanceof ApiError)) throw error
      yield { data: transcript.writeError(problem) }
    }
  }
  return withFinalizer(events(), async () => {
    await chunks.return()
  })
}
