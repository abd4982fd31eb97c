/** Has a recording written down while the caller waits: measured, held for, given to a provider, charged by its length. */
import type { Quote } from '@kinora/contract/operations/account'
import type { TranscriptFormat } from '@kinora/contract/operations/audio'

import type { Meter } from '../billing/metering/meter.ts'
import type { PriceList } from '../billing/prices/price-list.ts'
import type { Call, Reply } from '../http/call.ts'
import type { EventStream } from '../http/sse.ts'
import type { Catalog } from '../models/catalog.ts'
import { chooseModel } from '../models/choose-model.ts'
import { deprecationHeaders } from '../models/deprecation.ts'
import type { TranscriptionModel } from '../models/model.ts'
import { createDeferredAbort } from '../platform/streams/deferred-abort.ts'
import { ProviderFailure } from '../providers/port/failure.ts'
import type {
  TranscriptionJob,
  TranscriptionProvider,
  TranscriptStream,
} from '../providers/port/transcription.ts'
import type { Route, Router } from '../routing/route.ts'
import { audioFileAt, uploadedFile } from './audio-file.ts'
import { speaksOpenAi } from './dialect.ts'
import type { MeasureAudio } from './measure-audio.ts'
import { assertPaysAsYouGo } from './payg-rule.ts'
import { engineHeaders, problemOf } from './provider-problem.ts'
import { transcriptEvents } from './transcript-events.ts'
import {
  needsSegments,
  usageOf,
  writeTranscript,
  type TranscriptView,
  type WrittenTranscript,
} from './transcript-formats.ts'

export interface TranscribeDependencies {
  catalog: Catalog
  router: Router
  prices: PriceList
  meter: Meter
  measureAudio: MeasureAudio
  /** Whether subscription keys are refused. */
  requiresPayg: boolean
}

export interface TranscribeOrder {
  operation: 'createTranscription' | 'createTranslation'
  task: TranscriptionJob['task']
  model: TranscriptionModel
  language: string | undefined
  prompt: string | undefined
  temperature: number
  format: TranscriptFormat
  wantsWords: boolean
}

/** A slow machine writes down an hour in two and a half; nobody is asked to wait longer. */
const patienceMs = (durationSeconds: number) => Math.max(120_000, Math.ceil(durationSeconds * 2_500))

/** The model a request names, as one this endpoint takes from this caller. */
export const transcriptionModelFor = (
  { catalog, requiresPayg }: Pick<TranscribeDependencies, 'catalog' | 'requiresPayg'>,
  { caller, fields }: Pick<Call, 'caller' | 'fields'>,
  endpoint: string,
): TranscriptionModel => {
  const { id } = chooseModel(catalog, caller, fields.value('model'))
  const model = catalog.transcriptionModelFor(endpoint, id)
  if (requiresPayg) assertPaysAsYouGo(caller)
  return model
}

/** The shape that is answered in: a model that knows no other answers JSON, and the wish is named as passed over. */
export const formatFor = (
  model: TranscriptionModel,
  asked: string | undefined,
  call: Pick<Call, 'ignore'>,
) => {
  const format = (asked ?? 'json') as TranscriptFormat
  if (!model.answersJsonOnly || format === 'json') return format
  call.ignore('response_format')
  return 'json'
}

const streamOf = async (
  provider: TranscriptionProvider,
  job: TranscriptionJob,
  signal: AbortSignal,
): Promise<TranscriptStream> => {
  if (provider.streamTranscript !== undefined) return provider.streamTranscript(job, signal)
  const { text, engine } = await provider.transcribe(job, signal)
  async function* chunks() {
    if (text !== '') yield text
  }
  return { engine, chunks: chunks() }
}

export const createTranscribe = ({
  router,
  prices,
  meter,
  measureAudio,
}: Pick<TranscribeDependencies, 'router' | 'prices' | 'meter' | 'measureAudio'>) => {
  /** Everything up to the money. */
  const prepare = async (call: Call, order: TranscribeOrder) => {
    const { caller, fields } = call
    const { model, task, format, wantsWords, language } = order
    const upload = uploadedFile(fields, 'file')
    const measured = await measureAudio(upload.path, 'file', call.mediaWork)
    const { durationSeconds } = measured
    const price = [prices.priceOfMinutes(model, durationSeconds)]
    const job: Omit<TranscriptionJob, 'model'> = {
      task,
      file: audioFileAt(upload.path, upload.sizeBytes, measured),
      language,
      prompt: order.prompt,
      temperature: order.temperature,
      wantsSegments: needsSegments(format),
      wantsWords,
    }
    const isOpenAi = speaksOpenAi(call)
    const view: TranscriptView = { task, format, durationSeconds, language, wantsWords, isOpenAi }
    const metering = {
      caller,
      requestId: call.requestId,
      signal: call.signal,
      operation: order.operation,
      model: model.id,
      provider: router.routesOf(model.id, 'transcription')[0]?.provider.name ?? '',
      heldFor: price,
    }
    return { job, view, price, metering, headers: deprecationHeaders(model) }
  }

  /**
   * Everything up to the provider. What fails in `ask` is released, and told in words of ours. A provider is paid for the
   * recording it was given, so a client that disconnects does not end its work before it has answered.
   */
  const begin = async (call: Call, order: TranscribeOrder) => {
    const { job, metering, ...prepared } = await prepare(call, order)
    const { signal, attach } = createDeferredAbort(call.signal, patienceMs(prepared.view.durationSeconds))
    const metered = await meter.open(metering)
    const ask = async <Answer>(
      work: (from: TranscriptionProvider, job: TranscriptionJob, signal: AbortSignal) => Promise<Answer>,
    ): Promise<{ answer: Answer; route: Route }> => {
      const askOne = async ({ provider, upstreamModel }: Route) => {
        call.note({ provider: provider.name })
        metered.servedBy(provider.name)
        if (provider.transcription === undefined)
          throw new ProviderFailure('rejected', 'it cannot transcribe')
        return work(provider.transcription, { ...job, model: upstreamModel }, signal)
      }
      try {
        const need = { capability: 'transcription', outlivesClient: true } as const
        return await router.call(order.model.id, need, call.signal, askOne)
      } catch (error) {
        await metered.settle(call.signal.aborted ? 'aborted' : 'failed', [])
        throw problemOf(error, { model: order.model.id, input: 'file' })
      }
    }
    return { ...prepared, metered, ask, attach }
  }

  return {
    /** Answers what it would cost. */
    quote: async (call: Call, order: TranscribeOrder): Promise<Reply<Quote>> => {
      const { view, metering, headers } = await prepare(call, order)
      const { language, prompt, temperature, format: response_format } = order
      const understood = {
        ...{ response_format, temperature, seconds: view.durationSeconds },
        ...(language !== undefined && { language }),
        ...(prompt !== undefined && { prompt }),
      }
      return { headers, body: await meter.quote(metering, understood) }
    },
    /** Answers once all of it is written down. */
    whole: async (call: Call, order: TranscribeOrder): Promise<WrittenTranscript> => {
      const { view, price, metered, ask, headers } = await begin(call, order)
      const { answer } = await ask(async (provider, job, signal) => {
        const transcript = await provider.transcribe(job, signal)
        return { engine: transcript.engine, written: writeTranscript(transcript, view) }
      })
      const { engine, written } = answer
      // A client that has left is charged for what the provider completed, and its retry may find the reply.
      await metered.settle(call.signal.aborted ? 'aborted' : 'completed', price)
      return { ...written, headers: { ...headers, ...engineHeaders(engine), ...written.headers } }
    },
    /** Answers piece by piece; only what fails before the first of them can still be told by a status. */
    streamed: async (
      call: Call,
      order: TranscribeOrder,
    ): Promise<{ headers: Record<string, string>; body: EventStream }> => {
      const { view, price, metered, ask, attach, headers } = await begin(call, order)
      const { answer, route } = await ask(async (provider, job, signal) => {
        const stream = await streamOf(provider, job, signal)
        return { ...stream, first: await stream.chunks.next() }
      })
      attach()
      const { engine, chunks, first } = answer
      const body = transcriptEvents({
        first,
        chunks,
        signal: call.signal,
        ending: usageOf(view),
        problem: (error) => problemOf(error, { model: order.model.id, input: 'file' }),
        settle: (outcome) => {
          if (outcome === 'failed') router.report(route.provider.name, order.model.id, 'unknown')
          // A provider that has begun to answer has done its work; one that failed has not.
          return metered.settle(outcome, outcome === 'failed' ? [] : price)
        },
      })
      return { headers: { ...headers, ...engineHeaders(engine) }, body }
    },
  }
}
