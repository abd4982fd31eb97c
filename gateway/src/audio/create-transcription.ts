import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'
import { TranscriptionForm } from '@kinora/contract/operations/audio'

import type { Call, Handler } from '../http/call.ts'
import { readLanguage } from './languages.ts'
import {
  createTranscribe,
  formatFor,
  transcriptionModelFor,
  type TranscribeDependencies,
  type TranscribeOrder,
} from './transcribe.ts'

const endpoint = '/v1/audio/transcriptions'
const granularities = 'timestamp_granularities[]'

/** Whether the caller wants word timestamps, which only `verbose_json` contains. */
const readWantsWords = ({ fields }: Pick<Call, 'fields'>, format: string): boolean => {
  const given = fields.value(granularities)
  if (given === undefined) return false
  const values = Array.isArray(given) ? (given as unknown[]) : [given]
  const isKnown = values.every((value) => value === 'word' || value === 'segment')
  if (isKnown && format === 'verbose_json') return values.includes('word')
  throw new ApiError('invalid_parameter', {
    param: granularities,
    message: isKnown
      ? `'${granularities}' needs 'response_format' to be verbose_json.`
      : `'${granularities}' must be word or segment.`,
  })
}

export const createTranscription = (
  dependencies: TranscribeDependencies,
): Handler<typeof operations.createTranscription> => {
  const transcribe = createTranscribe(dependencies)
  return async (call) => {
    const model = transcriptionModelFor(dependencies, call, endpoint)
    const form = call.read(TranscriptionForm)
    const wantsWords = readWantsWords(call, form.response_format ?? 'json')
    const language = form.language === undefined ? undefined : readLanguage(form.language)
    const format = formatFor(model, form.response_format, call)
    if (wantsWords && format !== 'verbose_json') call.ignore(granularities)
    const order: TranscribeOrder = {
      operation: 'createTranscription',
      task: 'transcribe',
      model,
      language,
      prompt: form.prompt,
      temperature: form.temperature ?? 0,
      format,
      wantsWords: wantsWords && format === 'verbose_json',
    }
    if (call.wantsQuote) return transcribe.quote(call, order)
    if (form.stream === true && format === 'json') return transcribe.streamed(call, order)
    if (form.stream === true) call.ignore('stream')
    return transcribe.whole(call, order)
  }
}
