/** The metrics of calls to a provider, by the conventions of OpenTelemetry for generative AI. */
import type { Readable } from 'node:stream'

import { isMeasured, measure, secondsSince, type LabelsOf } from '../../platform/metrics/metrics.ts'
import type { DialogueProvider } from '../port/dialogue.ts'
import { ProviderFailure } from '../port/failure.ts'
import type { SpeechProvider } from '../port/speech.ts'
import type { TranscriptionProvider } from '../port/transcription.ts'
import type { VideoProvider } from '../port/video.ts'

type Labels = LabelsOf<'gen_ai.client.operation.duration'>
type CallName = NonNullable<Labels['gen_ai.operation.name']>

/** The clock of one call. */
interface Watch {
  gotFirstChunk: () => void
  end: (error?: unknown) => void
}

/** Starts the clock of a call; undefined without metrics. */
type Start = (name: CallName, model: string | undefined, signal: AbortSignal) => Watch | undefined

const errorType = (error: unknown, signal: AbortSignal): Labels['error.type'] => {
  if (error instanceof ProviderFailure) return signal.aborted ? 'aborted' : error.kind
  return signal.aborted ? 'aborted' : 'internal'
}

const startFor =
  (provider: string): Start =>
  (name, model, signal) => {
    if (!isMeasured()) return undefined
    const startedMs = performance.now()
    const labels = {
      'gen_ai.operation.name': name,
      'gen_ai.provider.name': provider,
      'gen_ai.request.model': model,
    } as const
    let hasFirstChunk = false
    let isOver = false
    return {
      gotFirstChunk: () => {
        if (hasFirstChunk) return
        hasFirstChunk = true
        measure('gen_ai.client.operation.time_to_first_chunk', secondsSince(startedMs), labels)
      },
      end: (error) => {
        if (isOver) return
        isOver = true
        measure('gen_ai.client.operation.duration', secondsSince(startedMs), {
          ...labels,
          'error.type': error === undefined ? undefined : errorType(error, signal),
        })
      },
    }
  }

/** A call whose result is complete. */
const whole = async <Result>(watch: Watch | undefined, call: Promise<Result>): Promise<Result> => {
  if (watch === undefined) return call
  try {
    const result = await call
    watch.end()
    return result
  } catch (error) {
    watch.end(error)
    throw error
  }
}

/** A call whose result has a stream, which `measured` returns with the clock that it ends. */
const streamed = async <Result>(
  watch: Watch | undefined,
  call: Promise<Result>,
  measured: (result: Result, watch: Watch) => Result,
): Promise<Result> => {
  if (watch === undefined) return call
  try {
    return measured(await call, watch)
  } catch (error) {
    watch.end(error)
    throw error
  }
}

/** The call opens the stream with its first byte. */
const endWith = (bytes: Readable, { gotFirstChunk, end }: Watch): void => {
  gotFirstChunk()
  bytes.once('close', () => end(bytes.errored ?? undefined))
}

async function* measuredChunks<Chunk>(
  chunks: AsyncGenerator<Chunk, void, undefined>,
  { gotFirstChunk, end }: Watch,
): AsyncGenerator<Chunk, void, undefined> {
  try {
    for await (const chunk of chunks) {
      gotFirstChunk()
      yield chunk
    }
    end()
  } catch (error) {
    end(error)
    throw error
  } finally {
    // The consumer may stop early.
    end()
  }
}

const measuredVideo = (start: Start, video: VideoProvider): VideoProvider => {
  const { lookup, discard, cancel } = video
  return {
    ...video,
    submit: (job, signal) => whole(start('video_submit', job.model, signal), video.submit(job, signal)),
    poll: (ref, signal) => whole(start('video_poll', undefined, signal), video.poll(ref, signal)),
    openResult: (ref, result, signal) =>
      streamed(
        start('video_download', undefined, signal),
        video.openResult(ref, result, signal),
        (bytes, watch) => {
          endWith(bytes, watch)
          return bytes
        },
      ),
    ...(lookup && {
      lookup: (taskId, signal) => whole(start('video_lookup', undefined, signal), lookup(taskId, signal)),
    }),
    ...(discard && {
      discard: (ref, signal) => whole(start('video_discard', undefined, signal), discard(ref, signal)),
    }),
    ...(cancel && {
      cancel: (ref, signal) => whole(start('video_cancel', undefined, signal), cancel(ref, signal)),
    }),
  }
}

const measuredSpeech = (start: Start, speech: SpeechProvider): SpeechProvider => ({
  ...speech,
  speak: (job, signal) =>
    streamed(start('speech', job.model, signal), speech.speak(job, signal), (spoken, watch) => {
      endWith(spoken.bytes, watch)
      return spoken
    }),
})

const measuredTranscription = (start: Start, transcription: TranscriptionProvider): TranscriptionProvider => {
  const { streamTranscript } = transcription
  const nameOf = (task: 'transcribe' | 'translate') =>
    task === 'translate' ? 'translation' : 'transcription'
  return {
    transcribe: (job, signal) =>
      whole(start(nameOf(job.task), job.model, signal), transcription.transcribe(job, signal)),
    ...(streamTranscript && {
      streamTranscript: (job, signal) =>
        streamed(
          start(nameOf(job.task), job.model, signal),
          streamTranscript(job, signal),
          (stream, watch) => ({ ...stream, chunks: measuredChunks(stream.chunks, watch) }),
        ),
    }),
  }
}

const measuredDialogue = (start: Start, dialogue: DialogueProvider): DialogueProvider => ({
  reply: (job, signal) => whole(start('chat', job.model, signal), dialogue.reply(job, signal)),
  streamReply: (job, signal) =>
    streamed(start('chat', job.model, signal), dialogue.streamReply(job, signal), (stream, watch) => ({
      ...stream,
      chunks: measuredChunks(stream.chunks, watch),
    })),
})

interface Measured {
  video?: VideoProvider
  speech?: SpeechProvider
  transcription?: TranscriptionProvider
  dialogue?: DialogueProvider
}

/** The same capabilities of a provider, with each of their calls measured. */
export const measuredCapabilities = (
  provider: string,
  { video, speech, transcription, dialogue }: Measured,
): Measured => {
  const start = startFor(provider)
  return {
    ...(video && { video: measuredVideo(start, video) }),
    ...(speech && { speech: measuredSpeech(start, speech) }),
    ...(transcription && { transcription: measuredTranscription(start, transcription) }),
    ...(dialogue && { dialogue: measuredDialogue(start, dialogue) }),
  }
}
