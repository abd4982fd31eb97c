/**
 * Recordings of voices, which are free for callers. A recording is one short sentence, made at the first request and then
 * stored, so all callers together can cause one call to a provider per voice. Recordings are made one at a time, and a
 * failed one is not tried again for a minute.
 */
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'

import { ApiError } from '@kinora/contract/errors'

import type { SpeechModel } from '../models/model.ts'
import type { ModelEngines } from '../models/present-model.ts'
import { concurrencyLimitPerKey } from '../platform/concurrency-limit.ts'
import type { Log } from '../platform/log.ts'
import { createSharedWork } from '../platform/shared-work.ts'
import { ProviderFailure } from '../providers/port/failure.ts'
import type { Router } from '../routing/route.ts'
import { MediaNotFound, type MediaStore } from '../storage/port/media-store.ts'
import type { LinkSigner } from '../storage/signed-link.ts'
import { problemOf } from './provider-problem.ts'

const sentence = 'Hello! This is how I sound when I read a text to you.'
const sizeBytesMax = 1_048_576
const retryAfterMs = 60_000
const timeoutMs = 300_000
const never = new AbortController().signal

/** Signed links to recordings. */
export interface VoiceLinks {
  link: (model: string, voice: string) => string
  /** Throws if the query was not issued for this recording, or has expired. */
  check: (model: string, voice: string, query: string) => void
}

export const createVoiceLinks = (links: LinkSigner, publicUrl: string): VoiceLinks => {
  const subject = (model: string, voice: string) => `voice ${JSON.stringify([model, voice])}`
  return {
    link: (model, voice) =>
      `${publicUrl}/v1/audio/voices/${model}/${encodeURIComponent(voice)}/sample.mp3?${links.query(subject(model, voice))}`,
    check: (model, voice, query) => links.check(subject(model, voice), query),
  }
}

export type ReadVoiceSample = (model: SpeechModel, voice: string) => Promise<Buffer>

const bytesOf = async (stream: Readable): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let sizeBytes = 0
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    sizeBytes += chunk.length
    if (sizeBytes > sizeBytesMax)
      throw new ProviderFailure('rejected', 'the recording of a voice is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

export const createVoiceSamples = ({
  router,
  engines,
  mediaStore,
  log,
}: {
  router: Router
  engines: ModelEngines
  mediaStore: MediaStore
  log: Log
}): ReadVoiceSample => {
  const share = createSharedWork<Buffer>()
  const oneAtATime = concurrencyLimitPerKey(1)
  const failures = new Map<string, { atMs: number; problem: unknown }>()

  const record = async (model: SpeechModel, voice: string, signal: AbortSignal): Promise<Buffer> => {
    const { answer, route } = await router.call(
      model.id,
      { capability: 'speech' },
      signal,
      async ({ provider, upstreamModel }) => {
        if (provider.speech === undefined)
          throw new ProviderFailure('rejected', 'the provider has no speech capability')
        const job = { model: upstreamModel, input: sentence, voice, format: 'mp3', speed: 1 } as const
        const { bytes } = await provider.speech.speak({ ...job, instructions: undefined }, signal)
        return bytesOf(bytes)
      },
    )
    log.info({ model: model.id, voice, provider: route.provider.name }, 'voice-sample.recorded')
    return answer
  }

  const readStored = async (key: string): Promise<Buffer | undefined> => {
    try {
      return await bytesOf(await mediaStore.open(key))
    } catch (error) {
      if (error instanceof MediaNotFound) return undefined
      throw error
    }
  }

  /** Another provider, or another engine of the same one, sounds different. */
  const keyOf = async (model: SpeechModel, voice: string): Promise<string> => {
    const [route] = router.routesOf(model.id, 'speech')
    const engine = (await engines([model])).get(model.id)?.name
    const sound = [route?.provider.name, route?.upstreamModel, engine, voice, sentence]
    return `voices/${createHash('sha256').update(JSON.stringify(sound)).digest('hex')}`
  }

  return async (model, voice) => {
    const key = await keyOf(model, voice)
    // A disconnect does not stop a recording, because a caller could then have it made again and again.
    return share(key, never, async () => {
      const stored = await readStored(key)
      if (stored !== undefined) return stored
      const failure = failures.get(key)
      if (failure !== undefined && performance.now() - failure.atMs < retryAfterMs) throw failure.problem
      const end = await oneAtATime('recording')
      try {
        const bytes = await record(model, voice, AbortSignal.timeout(timeoutMs))
        await mediaStore.put(key, Readable.from([bytes]), { sizeBytesMax })
        failures.delete(key)
        return bytes
      } catch (error) {
        const problem =
          error instanceof ProviderFailure
            ? problemOf(error, { model: model.name, input: 'input' })
            : new ApiError('upstream_error', { cause: error })
        failures.set(key, { atMs: performance.now(), problem })
        throw problem
      } finally {
        end()
      }
    })
  }
}
