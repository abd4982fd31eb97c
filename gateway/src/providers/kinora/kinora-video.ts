import type { Readable } from 'node:stream'

import { failureInAnswer } from '../kit/http/classify.ts'
import { upstreamAt } from '../kit/http/upstream-http.ts'
import { member } from '../kit/json/lenient-json.ts'
import { idOf, jobIn } from '../kit/video/job-response.ts'
import { statusIn } from '../kit/video/job-status.ts'
import { openVideo } from '../kit/video/result-link.ts'
import { ProviderFailure } from '../port/failure.ts'
import type { Opaque, VideoJob, VideoJobStatus, VideoProvider } from '../port/video.ts'
import { createOnly, endpointsAt } from './kinora-endpoints.ts'
import { orderOf, remixOrder } from './kinora-order.ts'

export interface KinoraVideoSettings {
  /** With or without `/v1` at the end. */
  baseUrl: string
  apiKey: string | undefined
  /** Whether a repeated `Idempotency-Key` returns the existing job. */
  idempotentSubmits: boolean
  endpoints: 'ask' | 'create'
  results: 'link' | 'bytes'
  connections?: number | undefined
  traceparent?: boolean | undefined
  resultOrigins?: string[] | undefined
}

const doneWords = new Set(['completed', 'succeeded', 'success', 'video_upsampling_completed'])
const refusedWords = new Set([
  ...['failed', 'failure', 'error', 'cancelled', 'canceled', 'expired'],
  ...['video_generation_failed', 'video_upsampling_failed'],
])
/** Final unless the video is also upscaled. */
const generatedWord = 'video_generation_completed'

/** The Kinora API of another gateway or a compatible service. */
export function kinoraVideo(settings: KinoraVideoSettings): VideoProvider {
  const upstream = upstreamAt({
    baseUrl: settings.baseUrl.replace(/\/v1\/*$/, ''),
    apiKey: settings.apiKey,
    connections: settings.connections,
    traceparent: settings.traceparent,
    resultOrigins: settings.resultOrigins,
  })
  const endpointsOf = settings.endpoints === 'ask' ? endpointsAt(upstream) : async () => createOnly

  async function submit(job: VideoJob, signal: AbortSignal): Promise<Opaque> {
    const { upsamples, ...order } =
      job.source === undefined
        ? orderOf(job, await endpointsOf(job.model, signal))
        : remixOrder(job, idIn(job.source.ref))
    const answer = await upstream.callJson({
      ...order,
      what: 'submit',
      method: 'POST',
      headers: { 'idempotency-key': job.taskId },
      freshConnection: !settings.idempotentSubmits,
      signal,
    })
    const id = idOf(jobIn(answer.body))
    if (id !== undefined) return upsamples ? { id, upsamples } : { id }
    const refusal = failureInAnswer({ ...answer, what: 'submit' }, upstream.redact)
    throw refusal ?? new ProviderFailure('unknown', 'submit answered without an id')
  }

  async function poll(ref: Opaque, signal: AbortSignal): Promise<VideoJobStatus> {
    const path = `/v1/video/query?id=${encodeURIComponent(idIn(ref))}`
    const answer = await upstream.callJson({ what: 'poll', method: 'GET', path, alsoFine: [404], signal })
    if (answer.status === 404) return { kind: 'missing' }
    return statusIn(answer, {
      isDone: (word) => doneWords.has(word) || (word === generatedWord && member(ref, 'upsamples') !== true),
      isRefused: (word) => refusedWords.has(word),
      results: settings.results,
      redact: upstream.redact,
    })
  }

  async function openResult(ref: Opaque, result: Opaque, signal: AbortSignal): Promise<Readable> {
    const contentPath = () => `${taskPath(ref)}/content`
    return openVideo(upstream, { result, contentPath, poll: () => poll(ref, signal), signal })
  }

  async function cancel(ref: Opaque, signal: AbortSignal): Promise<void> {
    const path = `${taskPath(ref)}/cancel`
    await upstream.callJson({ what: 'cancel', method: 'POST', path, alsoFine: [404, 405], signal })
  }

  async function discard(ref: Opaque, signal: AbortSignal): Promise<void> {
    const alsoFine = [404, 405, 410]
    await upstream.callJson({ what: 'discard', method: 'DELETE', path: taskPath(ref), alsoFine, signal })
  }

  return {
    submitsAreIdempotent: settings.idempotentSubmits,
    canRemix: true,
    canChooseSound: () => true,
    usesVideo: () => true,
    usesAudio: () => true,
    remixesOwnJobs: true,
    submit,
    poll,
    openResult,
    cancel,
    discard,
  }
}

function idIn(ref: Opaque | undefined): string {
  const id = idOf(ref)
  if (id !== undefined) return id
  throw new ProviderFailure('rejected', 'not a job of this provider', { code: 'upstream_error' })
}

function taskPath(ref: Opaque): string {
  return `/v1/videos/${encodeURIComponent(idIn(ref))}`
}
