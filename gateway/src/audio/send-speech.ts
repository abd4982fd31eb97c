/** Streams speech to the client with backpressure, and settles its hold when the stream ends. */
import type { Readable } from 'node:stream'

import { ApiError } from '@kinora/contract/errors'

import type { Call } from '../http/call.ts'
import type { EventStream } from '../http/sse.ts'
import { readableFrom, withFinalizer } from '../platform/streams/with-finalizer.ts'

export interface SpeechUnderWay {
  bytes: Readable
  /** Aborted when the client disconnects. */
  signal: AbortSignal
  /** The client's error for a provider failure. */
  problem: (error: unknown) => unknown
  writeError: Call['writeError']
  settle: (outcome: 'completed' | 'aborted' | 'failed', sentBytes: number) => Promise<void>
}

/**
 * The provider's bytes. Their end settles the hold, also if the stream was never read. The end of complete speech does not wait
 * for that: the amount is certain, and the process does not exit before it is written.
 */
const settled = ({ bytes, signal, settle }: SpeechUnderWay): AsyncGenerator<Buffer, void, undefined> => {
  let sentBytes = 0
  // A consumer that stops reading ends the generator without an error.
  let outcome: Parameters<typeof settle>[0] = 'aborted'
  async function* chunks(): AsyncGenerator<Buffer, void, undefined> {
    try {
      for await (const chunk of bytes as AsyncIterable<Buffer>) {
        sentBytes += chunk.length
        yield chunk
      }
      outcome = 'completed'
    } catch (error) {
      if (!signal.aborted) outcome = 'failed'
      throw error
    }
  }
  return withFinalizer(chunks(), async () => {
    bytes.destroy()
    const settling = settle(outcome, sentBytes)
    if (outcome !== 'completed') await settling
  })
}

/** As bytes. A provider failure resets the connection, because a clean end would look like complete speech. */
export const sendSpeech = (speech: SpeechUnderWay): Readable => readableFrom(settled(speech))

/** As server-sent events. A provider failure is sent as an error event. */
export const speechEvents = (speech: SpeechUnderWay): EventStream => {
  const chunks = settled(speech)
  async function* events(): EventStream {
    try {
      for await (const chunk of chunks) {
        yield { data: JSON.stringify({ type: 'speech.audio.delta', audio: chunk.toString('base64') }) }
      }
      yield { data: JSON.stringify({ type: 'speech.audio.done' }) }
    } catch (error) {
      if (speech.signal.aborted) return
      const problem = speech.problem(error)
      if (!(problem instanceof ApiError)) throw error
      yield { data: speech.writeError(problem) }
    }
  }
  return withFinalizer(events(), async () => {
    await chunks.return()
  })
}
