import { ApiError } from '@kinora/contract/errors'
import type { operations } from '@kinora/contract/operations'
import { SpeechBody, type SpeechFormat } from '@kinora/contract/operations/audio'
import { Type } from 'typebox'

import type { Meter } from '../billing/metering/meter.ts'
import type { PriceList } from '../billing/prices/price-list.ts'
import type { Handler } from '../http/call.ts'
import { readMetadata } from '../metadata/read-metadata.ts'
import type { Catalog } from '../models/catalog.ts'
import { readModelName } from '../models/choose-model.ts'
import { deprecationHeaders } from '../models/deprecation.ts'
import type { SpeechModel } from '../models/model.ts'
import { voiceNames } from '../models/voice.ts'
import { createDeferredAbort } from '../platform/streams/deferred-abort.ts'
import { ProviderFailure } from '../providers/port/failure.ts'
import type { Route, Router } from '../routing/route.ts'
import { assertPaysAsYouGo } from './payg-rule.ts'
import { engineHeaders, problemOf } from './provider-problem.ts'
import { sendSpeech, speechEvents, type SpeechUnderWay } from './send-speech.ts'
import { shareSent } from './speech-share.ts'
import { takeSlot } from './take-slot.ts'

const endpoint = '/v1/audio/speech'

const contentTypes: Record<SpeechFormat, string> = {
  mp3: 'audio/mpeg',
  opus: 'audio/ogg',
  aac: 'audio/aac',
  flac: 'audio/flac',
  wav: 'audio/wav',
  pcm: 'audio/pcm',
}

/** The parameters of a model without instructions. `instructions` is then unknown, and so listed as ignored. */
const PlainSpeechBody = Type.Omit(SpeechBody, ['instructions'])

const readVoice = (given: unknown, { name: model, voices: known }: SpeechModel): string => {
  const voices = voiceNames(known)
  const name = typeof given === 'object' && given !== null && 'id' in given ? given.id : given
  if (typeof name !== 'string') {
    throw new ApiError('invalid_parameter', {
      param: 'voice',
      message: `'voice' must be the name of a voice of ${model}: ${voices.join(', ')}.`,
    })
  }
  if (voices.includes(name)) return name
  throw new ApiError('voice_not_supported', {
    param: 'voice',
    message: `'${name.slice(0, 60)}' is not a voice of ${model}. Use one of: ${voices.join(', ')}.`,
  })
}

export interface SpeechDependencies {
  catalog: Catalog
  router: Router
  prices: PriceList
  meter: Meter
  /** Whether subscription keys are refused. */
  requiresPayg: boolean
}

/**
 * Turns text into speech. The hold covers the whole text. Once a provider has sent the first byte, the whole text is
 * charged even if the client disconnects, because the provider charges for it. If the provider fails in the middle,
 * only the share that was sent is charged.
 */
export const createSpeech =
  ({
    catalog,
    router,
    prices,
    meter,
    requiresPayg,
  }: SpeechDependencies): Handler<typeof operations.createSpeech> =>
  async (call) => {
    const { caller, fields, signal } = call
    const model = catalog.speechModelFor(endpoint, readModelName(catalog, caller, fields.value('model')))
    if (requiresPayg) assertPaysAsYouGo(caller)
    const routes = router.routesOf(model.id, 'speech')
    const usesInstructions =
      model.followsInstructions &&
      routes.some(({ provider }) => provider.speech?.followsInstructions === true)
    const { instructions, ...order } = usesInstructions
      ? call.read(SpeechBody)
      : { ...call.read(PlainSpeechBody), instructions: undefined }
    const { input, speed = 1 } = order
    const format = (order.response_format ?? 'mp3') as SpeechFormat
    const voice = readVoice(fields.value('voice'), model)
    const metadata = readMetadata(fields.value('metadata'))

    // The hold and the charge use the same price, even if an operator changes it in between.
    const pricesOf = prices.pricesOf(model)
    const price = (characters: number) => pricesOf({ counted: { million_characters: characters } })
    const characters = [...input].length
    const metering = {
      caller,
      requestId: call.requestId,
      signal,
      operation: 'createSpeech',
      model,
      metadata,
      provider: routes[0]?.provider.name ?? '',
      heldFor: price(characters),
    }
    if (call.wantsQuote) {
      const understood = {
        input,
        voice,
        response_format: format,
        speed,
        ...(instructions && { instructions }),
        ...(metadata && { metadata }),
      }
      return { headers: deprecationHeaders(model, call), body: await meter.quote(metering, understood) }
    }
    const metered = await meter.open(metering)
    const work = createDeferredAbort(signal)
    const speak = async (route: Route) => {
      const { provider, upstreamModel } = route
      call.note({ provider: provider.name })
      metered.servedBy(route)
      if (provider.speech === undefined)
        throw new ProviderFailure('rejected', 'the provider has no speech capability')
      await takeSlot(call, provider)
      const { followsInstructions } = provider.speech
      const job = { model: upstreamModel, input, voice, format, speed }
      const speech = await provider.speech.speak(
        { ...job, instructions: followsInstructions ? instructions : undefined },
        work.signal,
      )
      if (instructions !== undefined && !followsInstructions) call.ignore('instructions')
      return speech
    }
    const startedMs = performance.now()
    try {
      // Before the first byte the router can fail over to another provider, after it no longer.
      const { answer, route } = await router.call(
        model.id,
        { capability: 'speech', outlivesClient: true },
        signal,
        speak,
      )
      const { bytes, engine } = answer
      work.attach()
      const speech: SpeechUnderWay = {
        bytes,
        signal,
        problem: (error) => problemOf(error, { model: model.name, input: 'input' }),
        writeError: call.writeError,
        settle: (outcome, sentBytes) => {
          call.releaseSlot()
          if (outcome === 'failed') router.report(route.provider.name, model.id, 'unknown', { startedMs })
          const share = outcome === 'failed' ? shareSent({ input, speed, format }, sentBytes) : 1
          // Nobody waits for the charge of complete speech.
          return metered.settle(outcome, price(characters * share), outcome === 'completed' ? 'soon' : 'now')
        },
      }
      const headers = { ...deprecationHeaders(model, call), ...engineHeaders(engine) }
      if (order.stream_format === 'sse') return { headers, body: speechEvents(speech) }
      return {
        headers: {
          ...headers,
          'content-type': contentTypes[format],
          ...(format === 'pcm' && { 'x-audio-format': 'pcm_s16le;rate=24000;channels=1' }),
        },
        body: sendSpeech(speech),
      }
    } catch (error) {
      call.releaseSlot()
      await metered.settle(signal.aborted ? 'aborted' : 'failed', [])
      throw problemOf(error, { model: model.name, input: 'input' })
    }
  }
