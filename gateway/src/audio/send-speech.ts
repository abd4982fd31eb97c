/** Passes a speech on as it is made, at the pace its listener takes, and sees that it is paid for once it ends. */
import type { Readable } from 'node:stream'

import { ApiError, errors } from '@kinora/contract/errors'

import type { EventStream } from '../http/sse.ts'
import { readableFrom, withFinalizer } from '../platform/streams/with-finalizer.ts'

export interface SpeechUnderWay {
  bytes: Readable
  /** Aborted when the listener goes away. */
  signal: AbortSignal
  /** What a listener is told of the provider's failure. */
  problem: (error: unknown) => unknown
  settle: (outcome: 'completed' | 'aborted' | 'failed', sentBytes: number) => Promise<void>
}

/** The provider's bytes. They are settled before their end is seen, however they end, even where nobody read them. */
const settled = ({ bytes, signal, settle }: SpeechUnderWay): AsyncGenerator<Buffer, void, undefined> => {
  let sentBytes = 0
  // A reader that leaves ends this with nothing thrown.
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
    await settle(outcome, sentBytes)
  })
}

/** As bytes. A provider that breaks off cuts the connection: a clean end would pass for a whole speech. */
export const sendSpeech = (speech: SpeechUnderWay): Readable => readableFrom(settled(speech))

/** As events; here what went wrong can be told. */
export const speechEvents = (speech: SpeechUnderWay): EventStream => {
  const chunks = settled(speech)
  async function* events(): EventStream {
    try {
      for await (const chunk of chunks) {
        yield { data: JSON.stringify({ type: 'speech.audio.delta', audio: chunk.toString('base64') }) }
      }
      yield { data: JSON.stringify({ type: 'speech.audio.done' }) }
    } catch (error) {
      // Nobody is left to be told.
      if (speech.signal.aborted) return
      const problem = speech.problem(error)
      if (!(problem instanceof ApiError)) throw error
      const { message, code } = problem
      yield { data: JSON.stringify({ error: { message, type: errors[code].type, code } }) }
    }
  }
  return withFinalizer(events(), async () => {
    await chunks.return()
  })
}
