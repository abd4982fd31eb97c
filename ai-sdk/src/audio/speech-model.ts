/** The speech model of the SDK, whole and as a stream. */
import {
  UnsupportedFunctionalityError,
  type Experimental_SpeechModelV4StreamOptions as StreamOptions,
  type Experimental_SpeechModelV4StreamPart as StreamPart,
  type Experimental_StreamingSpeechModelV4 as StreamingSpeechModelV4,
  type SharedV4Warning,
  type SpeechModelV4CallOptions as CallOptions,
} from '@ai-sdk/provider'
import {
  createBinaryResponseHandler,
  createBinaryStreamResponseHandler,
  postJsonToApi,
} from '@ai-sdk/provider-utils'
import type { SpeechFormat } from '@kinora/contract/operations/audio'

import type { Connection } from '../connection.ts'
import { withIdempotencyKey } from '../idempotency-key.ts'
import type { ReadModelFacts } from '../model-facts.ts'
import { readOptions } from '../read-options.ts'
import { ignoredParameters, shutdown, unsupported } from '../warnings.ts'
import { speechOptions, type KinoraSpeechOptions } from './speech-options.ts'

const mediaTypes: Record<SpeechFormat, string> = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
}
const pcmRate = 24_000

const isFormat = (name: string): name is SpeechFormat => Object.hasOwn(mediaTypes, name)

/** The format of a stream, which the SDK names by its media type. */
const formatOfType = ({ type, rate }: NonNullable<StreamOptions['outputFormat']>): string => {
  const [name] = Object.entries(mediaTypes).find(([, mediaType]) => mediaType === type) ?? [type]
  return name === 'pcm' && rate !== undefined && rate !== pcmRate ? `pcm of ${rate} Hz` : name
}

/** The whole text, because the API needs it before it speaks, and the voice of its parts. */
const readText = async ({ text, voice: voiceOfCall, abortSignal }: StreamOptions) => {
  let whole = ''
  let voice = voiceOfCall
  const reader = text.getReader()
  const cancel = () => void reader.cancel(abortSignal?.reason).catch(() => undefined)
  abortSignal?.addEventListener('abort', cancel, { once: true })
  try {
    for (;;) {
      const { done, value } = await reader.read()
      abortSignal?.throwIfAborted()
      if (done) return { text: whole, ...(voice !== undefined && { voice }) }
      voice ??= value.voice
      if (value.voice !== undefined && value.voice !== voice) {
        throw new UnsupportedFunctionalityError({
          functionality: 'voice',
          message: `Kinora speaks a text with one voice. This text has '${voice}' and '${value.voice}'.`,
        })
      }
      whole += value.text
    }
  } catch (error) {
    // Otherwise the producer of the text would wait for its reader forever.
    cancel()
    throw error
  } finally {
    abortSignal?.removeEventListener('abort', cancel)
  }
}

export const createSpeechModel = (
  modelId: string,
  { connection, readModelFacts }: { connection: Connection; readModelFacts: ReadModelFacts },
): StreamingSpeechModelV4 => {
  const buildRequest = async (call: CallOptions) => {
    const { text, voice, outputFormat, instructions, speed, language, headers, providerOptions } = call
    const { options, parameters } = readOptions<KinoraSpeechOptions>(providerOptions, speechOptions)
    const facts = await readModelFacts(modelId, call)
    const warnings: SharedV4Warning[] = shutdown(facts.id, facts)
    if (language !== undefined) warnings.push(unsupported('language', 'The voice decides on the language.'))
    const format = outputFormat ?? 'mp3'
    if (!isFormat(format)) {
      const known = Object.keys(mediaTypes).join(', ')
      warnings.push(unsupported('outputFormat', `The formats are ${known}. This speech is mp3.`))
    }
    const body = {
      model: modelId,
      input: text,
      // The API has no default, because each model has voices of its own.
      voice: voice ?? facts.voices?.[0],
      response_format: isFormat(format) ? format : 'mp3',
      ...(instructions !== undefined && { instructions }),
      ...(speed !== undefined && { speed }),
      ...parameters,
    }
    const request = {
      ...connection.requestOf({ ...call, headers: withIdempotencyKey(headers, options.idempotencyKey) }),
      url: connection.urlOf('/audio/speech'),
      body,
    }
    return { request, warnings }
  }

  /** The audio is passed on while it is generated, and never held as a whole. */
  const stream = async (options: StreamOptions): Promise<ReadableStream<StreamPart>> => {
    const { outputFormat, ...others } = options
    const read = await readText(options)
    const { request, warnings } = await buildRequest({
      ...{ ...others, ...read },
      ...(outputFormat && { outputFormat: formatOfType(outputFormat) }),
    })
    const { value: audio, responseHeaders } = await postJsonToApi({
      ...request,
      successfulResponseHandler: createBinaryStreamResponseHandler(),
    })
    const format = request.body.response_format
    const audioFormat = { type: mediaTypes[format], ...(format === 'pcm' && { rate: pcmRate }) }
    const start: StreamPart[] = [
      { type: 'stream-start', warnings: [...warnings, ...ignoredParameters(responseHeaders)] },
      {
        type: 'response-metadata',
        timestamp: new Date(),
        modelId,
        ...(responseHeaders && { headers: responseHeaders }),
      },
    ]
    const finish: StreamPart = { type: 'finish', usage: { inputCharacters: [...read.text].length } }
    return audio.pipeThrough(
      new TransformStream<Uint8Array, StreamPart>({
        start: (controller) => {
          for (const part of start) controller.enqueue(part)
        },
        transform: (bytes, controller) => controller.enqueue({ type: 'audio', audio: bytes, audioFormat }),
        flush: (controller) => controller.enqueue(finish),
      }),
    )
  }

  return {
    specificationVersion: 'v4',
    provider: 'kinora.speech',
    modelId,

    doGenerate: async (options) => {
      const { request, warnings } = await buildRequest(options)
      const { value: audio, responseHeaders } = await postJsonToApi({
        ...request,
        successfulResponseHandler: createBinaryResponseHandler(),
      })
      return {
        audio,
        warnings: [...warnings, ...ignoredParameters(responseHeaders)],
        request: { body: request.body },
        response: { timestamp: new Date(), modelId, ...(responseHeaders && { headers: responseHeaders }) },
      }
    },

    doStream: async (options) => ({ stream: await stream(options) }),
  }
}
