/** Passes a speech on as it is made, at the pace its listener takes, and sees that it is paid for once it ends. */
import { Readable } from 'node:stream'

import { ApiError, errors } from '@kinora/contract/errors'

import type { EventStream } from '../http/event-stream.ts'

/** A listener that has taken nothing for this long is not coming back; the provider is not kept waiting for it. */
const stalledMsMax = 60_000

export interface SpeechUnderWay {
  bytes: Readable
  /** Aborted when the listener goes away. */
  signal: AbortSignal
  /** What a listener is told of the provider's failure. */
  problem: (error: unknown) => unknown
  settle: (outcome: 'completed' | 'aborted' | 'failed', sentBytes: number) => Promise<void>
}

/** The provider's bytes, whatever becomes of them. It is settled before the end is seen, however it ends. */
async function* settled({ bytes, signal, settle }: SpeechUnderWay): AsyncGenerator<Buffer> {
  let sentBytes = 0
  // A reader that leaves ends this at its yield, with nothing thrown.
  let outcome: Parameters<typeof settle>[0] = 'aborted'
  try {
    for await (const chunk of bytes as AsyncIterable<Buffer>) {
      sentBytes += chunk.length
      yield chunk
    }
    outcome = 'completed'
  } catch (error) {
    if (!signal.aborted) outcome = 'failed'
    throw error
  } finally {
    bytes.destroy()
    await settle(outcome, sentBytes)
  }
}

/** As bytes. A provider that breaks off cuts the connection: a clean end would pass for a whole speech. */
export const sendSpeech = (speech: SpeechUnderWay): Readable => {
  const stalled = setTimeout(
    () => body.destroy(new Error('the listener has stopped listening')),
    stalledMsMax,
  )
  stalled.unref()
  async function* heard(): AsyncGenerator<Buffer> {
    for await (const chunk of settled(speech)) {
      stalled.refresh()
      yield chunk
    }
  }
  const body = Readable.from(heard(), { objectMode: false, highWaterMark: 64 * 1024 })
  return body.on('close', () => clearTimeout(stalled))
}

/** As events; here what went wrong can be told. */
export async function* speechEvents(speech: SpeechUnderWay): EventStream {
  try {
    for await (const chunk of settled(speech)) {
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
