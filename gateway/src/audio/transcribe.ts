/** Transcribes an audio file while the caller waits. The price depends on its duration and is held before the call. */
import type { Quote } from '@kinora/contract/operations/account'
import type { TranscriptFormat } from '@kinora/contract/operations/audio'

import type { Meter } from '../billing/metering/meter.ts'
import type { PriceList } from '../billing/prices/price-list.ts'
import { formatQuantity } from '../billing/prices/price.ts'
import type { Call, Reply } from '../http/call.ts'
import type { EventStream } from '../http/sse.ts'
import { readMetadata } from '../metadata/read-metadata.ts'
import type { Catalog } from '../models/catalog.ts'
import { readModelName } from '../models/choose-model.ts'
import { deprecationHeaders } from '../models/deprecation.ts'
import type { TranscriptionModel } from '../models/model.ts'
import { createDeferredAbort } from '../platform/streams/deferred-abort.ts'
import { ProviderFailure } from '../providers/port/failure.ts'
import type {
  TranscriptionJob,
  TranscriptionProvider,
  TranscriptStream,
} from '../providers/port/transcription.ts'
import type { CompareDurations } from '../routing/compare-durations.ts'
import type { Route, Router } from '../routing/route.ts'
import { audioFileAt, uploadedFile } from './audio-file.ts'
import { speaksOpenAi } from './dialect.ts'
import type { MeasureAudio } from './measure-audio.ts'
import { assertPaysAsYouGo } from './payg-rule.ts'
import { engineHeaders, problemOf } from './provider-problem.ts'
import { takeSlot } from './take-slot.ts'
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
  compareDurations: CompareDurations
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

/** A slow machine needs two and a half hours to transcribe one. */
const timeoutMs = (durationSeconds: number) => Math.max(120_000, Math.ceil(durationSeconds * 2_500))

/** The model of a request, if this endpoint serves it and the caller may use it. */
export const transcriptionModelFor = (
  { catalog, requiresPayg }: Pick<TranscribeDependencies, 'catalog' | 'requiresPayg'>,
  { caller, fields }: Pick<Call, 'caller' | 'fields'>,
  endpoint: string,
): TranscriptionModel => {
  const name = readModelName(catalog, caller, fields.value('model'))
  const model = catalog.transcriptionModelFor(endpoint, name)
  if (requiresPayg) assertPaysAsYouGo(caller)
  return model
}

/** The response format. A model that only supports JSON uses it, and lists `response_format` as ignored. */
export const formatFor = (
  model: TranscriptionModel,
  requested: string | undefined,
  call: Pick<Call, 'ignore'>,
) => {
  const format = (requested ?? 'json') as TranscriptFormat
  if (model.hasTimestamps || format === 'json') return format
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
  compareDurations,
}: Pick<TranscribeDependencies, 'router' | 'prices' | 'meter' | 'measureAudio' | 'compareDurations'>) => {
  /** Reads and measures the upload and computes the price, without placing a hold. */
  const prepare = async (call: Call, order: TranscribeOrder) => {
    const { caller, fields } = call
    const { model, task, format, wantsWords, language } = order
    const metadata = readMetadata(fields.value('metadata'))
    const upload = uploadedFile(fields, 'file')
    const measured = await measureAudio(upload.path, 'file', call.mediaWork)
    const { durationSeconds } = measured
    const price = prices.pricesOf(model)({ counted: { minute: durationSeconds } })
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
      model,
      metadata,
      provider: router.routesOf(model.id, 'transcription')[0]?.provider.name ?? '',
      heldFor: price,
    }
    return { job, view, price, metering, headers: deprecationHeaders(model, call) }
  }

  /**
   * Places the hold. If `callProvider` fails, the hold is released and the error is a public one. A disconnect of the
   * client does not abort the provider before it answers, because the provider charges for the file it received.
   */
  const begin = async (call: Call, order: TranscribeOrder) => {
    const { job, metering, ...prepared } = await prepare(call, order)
    const { signal, attach } = createDeferredAbort(call.signal, timeoutMs(prepared.view.durationSeconds))
    const metered = await meter.open(metering)
    const callProvider = async <Answer>(
      work: (provider: TranscriptionProvider, job: TranscriptionJob, signal: AbortSignal) => Promise<Answer>,
    ): Promise<{ answer: Answer; route: Route }> => {
      const callRoute = async (route: Route) => {
        const { provider, upstreamModel } = route
        call.note({ provider: provider.name })
        metered.servedBy(route)
        if (provider.transcription === undefined)
          throw new ProviderFailure('rejected', 'the provider has no transcription capability')
        await takeSlot(call, provider)
        return work(provider.transcription, { ...job, model: upstreamModel }, signal)
      }
      try {
        const requirements = { capability: 'transcription', outlivesClient: true } as const
        return await router.call(order.model.id, requirements, call.signal, callRoute)
      } catch (error) {
        call.releaseSlot()
        await metered.settle(call.signal.aborted ? 'aborted' : 'failed', [])
        throw problemOf(error, { model: order.model.name, input: 'file' })
      }
    }
    return { ...prepared, metered, callProvider, attach }
  }

  return {
    quote: async (call: Call, order: TranscribeOrder): Promise<Reply<Quote>> => {
      const { view, metering, headers } = await prepare(call, order)
      const { language, prompt, temperature, format: response_format } = order
      const understood = {
        ...{ response_format, temperature, seconds: formatQuantity(view.durationSeconds) },
        ...(language !== undefined && { language }),
        ...(prompt !== undefined && { prompt }),
        ...(metering.metadata && { metadata: metering.metadata }),
      }
      return { headers, body: await meter.quote(metering, understood) }
    },
    /** Responds with the complete transcript. */
    whole: async (call: Call, order: TranscribeOrder): Promise<WrittenTranscript> => {
      const { view, price, metered, callProvider, headers } = await begin(call, order)
      const { answer, route } = await callProvider(async (provider, job, signal) => {
        const transcript = await provider.transcribe(job, signal)
        const { engine, durationSeconds: reportedSeconds } = transcript
        return { engine, reportedSeconds, written: writeTranscript(transcript, view) }
      })
      call.releaseSlot()
      const { engine, reportedSeconds, written } = answer
      compareDurations({
        ...{ provider: route.provider.name, model: order.model.id, id: call.requestId },
        ...{ measuredSeconds: view.durationSeconds, reportedSeconds },
      })
      // A disconnected client is charged for completed work, and its retry may replay the stored response.
      await metered.settle(call.signal.aborted ? 'aborted' : 'completed', price)
      return { ...written, headers: { ...headers, ...engineHeaders(engine), ...written.headers } }
    },
    /** Streams the transcript. Only a failure before the first chunk becomes an HTTP error status. */
    streamed: async (
      call: Call,
      order: TranscribeOrder,
    ): Promise<{ headers: Record<string, string>; body: EventStream }> => {
      const { view, price, metered, callProvider, attach, headers } = await begin(call, order)
      const startedMs = performance.now()
      const { answer, route } = await callProvider(async (provider, job, signal) => {
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
        problem: (error) => problemOf(error, { model: order.model.name, input: 'file' }),
        writeError: call.writeError,
        settle: (outcome) => {
          call.releaseSlot()
          if (outcome === 'failed') {
            router.report(route.provider.name, order.model.id, 'unknown', { startedMs })
          }
          // A provider that has sent the first chunk has processed the whole file, unless it fails later.
          return metered.settle(outcome, outcome === 'failed' ? [] : price)
        },
      })
      return { headers: { ...headers, ...engineHeaders(engine) }, body }
    },
  }
}
