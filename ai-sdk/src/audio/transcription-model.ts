/** The transcription model of the SDK. */
import {
  InvalidArgumentError,
  type SharedV4Warning,
  type TranscriptionModelV4,
  type TranscriptionModelV4CallOptions as CallOptions,
} from '@ai-sdk/provider'
import { convertBase64ToUint8Array, mediaTypeToExtension, postFormDataToApi } from '@ai-sdk/provider-utils'
import type { Transcription } from '@kinora/contract/operations/audio'

import { responseWith, type Connection } from '../connection.ts'
import { withIdempotencyKey } from '../idempotency-key.ts'
import { readOptions } from '../read-options.ts'
import { ignoredParameters, unsupported } from '../warnings.ts'
import { languageCode } from './language-code.ts'
import { transcriptionOptions, type KinoraTranscriptionOptions } from './transcription-options.ts'

const paths: Record<string, string> = {
  transcribe: '/audio/transcriptions',
  translate: '/audio/translations',
}

const pathOf = (task: string): string => {
  const path = Object.hasOwn(paths, task) ? paths[task] : undefined
  if (path !== undefined) return path
  throw new InvalidArgumentError({
    argument: 'providerOptions',
    message: `'providerOptions.kinora.task' must be transcribe or translate (got '${task}').`,
  })
}

/** With all details, as far as the model has them. */
const buildForm = (
  modelId: string,
  { audio, mediaType, timestampGranularities = [] }: CallOptions,
  more: object,
) => {
  const bytes = typeof audio === 'string' ? convertBase64ToUint8Array(audio) : audio
  const form = new FormData()
  form.append('model', modelId)
  form.append('response_format', 'verbose_json')
  for (const granularity of timestampGranularities) form.append('timestamp_granularities[]', granularity)
  for (const [name, value] of Object.entries(more))
    form.append(name, typeof value === 'string' ? value : JSON.stringify(value))
  // Last, because the service reads a form in order, and rejects a bad parameter before it has received the file.
  const file = new Blob([bytes], { type: mediaType })
  form.append('file', file, `audio.${mediaTypeToExtension(mediaType)}`)
  return form
}

const timed = (text: string, { start, end }: { start: number; end: number }) => ({
  ...{ text, startSecond: start, endSecond: end },
})

export const createTranscriptionModel = (
  modelId: string,
  { connection }: { connection: Connection },
): TranscriptionModelV4 => ({
  specificationVersion: 'v4',
  provider: 'kinora.transcription',
  modelId,

  doGenerate: async (call) => {
    const { options, parameters } = readOptions<KinoraTranscriptionOptions>(
      call.providerOptions,
      transcriptionOptions,
    )
    const { value, rawValue, responseHeaders } = await postFormDataToApi({
      ...connection.requestOf({
        ...call,
        headers: withIdempotencyKey(call.headers, options.idempotencyKey),
      }),
      url: connection.urlOf(pathOf(options.task ?? 'transcribe')),
      formData: buildForm(modelId, call, parameters),
      successfulResponseHandler: responseWith<Transcription>('text'),
    })
    const { text, segments, words, language, duration, usage } = value
    const warnings: SharedV4Warning[] = ignoredParameters(responseHeaders)
    const wanted = call.timestampGranularities ?? []
    if (wanted.includes('word') && words === undefined)
      warnings.push(unsupported('timestampGranularities', `${modelId} has no timings of words.`))
    if (wanted.includes('segment') && segments === undefined)
      warnings.push(unsupported('timestampGranularities', `${modelId} has no segments.`))
    return {
      text,
      segments: (segments ?? []).map((segment) => timed(segment.text.trim(), segment)),
      ...(words && { words: words.map((word) => timed(word.word.trim(), word)) }),
      language: languageCode(language),
      durationInSeconds: duration,
      warnings,
      ...(usage && { usage }),
      response: {
        ...{ timestamp: new Date(), modelId, body: rawValue },
        ...(responseHeaders && { headers: responseHeaders }),
      },
    }
  },
})
