import type { Readable } from 'node:stream'

import { failureInAnswer } from '../kit/http/classify.ts'
import { jsonBody, multipart } from '../kit/http/multipart.ts'
import { upstreamAt } from '../kit/http/upstream-http.ts'
import { member, textOf } from '../kit/json/lenient-json.ts'
import { idOf, jobIn } from '../kit/video/job-response.ts'
import { statusIn } from '../kit/video/job-status.ts'
import { referencePart } from '../kit/video/reference-part.ts'
import { openVideo } from '../kit/video/result-link.ts'
import { ProviderFailure } from '../port/failure.ts'
import type { Opaque, SourceVideo, VideoJob, VideoJobStatus, VideoProvider } from '../port/video.ts'

export interface OpenAiVideoSettings {
  /** With or without `/v1` at the end. */
  baseUrl: string
  apiKey: string
  /** Whether this vendor supports `Idempotency-Key`; the original one does not. */
  idempotentSubmits: boolean
  /** Whether this vendor stores `client_reference` and can list by it. */
  lookup?: boolean | undefined
  /** `link` if the status has the URL of the video; default `bytes`, below the job. */
  results?: 'bytes' | 'link' | undefined
  connections?: number | undefined
  traceparent?: boolean | undefined
  resultOrigins?: string[] | undefined
}

const doneWords = new Set(['completed', 'complete', 'succeeded', 'succeed', 'success', 'done', 'finished'])
const refusedWords = new Set([
  ...['failed', 'fail', 'failure', 'error', 'rejected', 'blocked', 'timeout', 'timed_out'],
  ...['cancelled', 'canceled', 'aborted', 'expired', 'deleted'],
])

/** The `/v1/videos` protocol and its common variants. */
export function openAiVideo(settings: OpenAiVideoSettings): VideoProvider {
  const upstream = upstreamAt({
    baseUrl: settings.baseUrl.replace(/\/v1\/*$/, ''),
    apiKey: settings.apiKey,
    connections: settings.connections,
    traceparent: settings.traceparent,
    resultOrigins: settings.resultOrigins,
  })

  /** A remix request has only the source job and the prompt. */
  function remixOf(job: VideoJob, source: SourceVideo) {
    if (source.ref === undefined) {
      throw new ProviderFailure('rejected', 'the source was made elsewhere', { code: 'upstream_error' })
    }
    return {
      path: `${pathOf(source.ref)}/remix`,
      body: jsonBody({
        prompt: job.prompt,
        ...(settings.lookup === true && { client_reference: job.taskId }),
      }),
    }
  }

  /** The protocol has no characters: their names stay in the prompt as text. */
  function creationOf(job: VideoJob) {
    const fields = [
      { name: 'model', value: job.model },
      { name: 'prompt', value: job.prompt },
      { name: 'seconds', value: String(job.seconds) },
      { name: 'size', value: `${job.width}x${job.height}` },
    ]
    if (settings.lookup === true) fields.push({ name: 'client_reference', value: job.taskId })
    const files = job.references.map((image, index) => referencePart('input_reference', image, index))
    return { path: '/v1/videos', body: multipart([...fields, ...files]) }
  }

  async function submit(job: VideoJob, signal: AbortSignal): Promise<Opaque> {
    const answer = await upstream.callJson({
      ...(job.source === undefined ? creationOf(job) : remixOf(job, job.source)),
      what: 'submit',
      method: 'POST',
      headers: { 'idempotency-key': job.taskId },
      freshConnection: !settings.idempotentSubmits,
      signal,
    })
    const id = idOf(jobIn(answer.body))
    if (id !== undefined) return { id }
    // Some variants report a refusal with status 200; for any other response without an id the outcome is unknown.
    const refusal = failureInAnswer({ ...answer, what: 'submit' }, upstream.redact)
    throw refusal ?? new ProviderFailure('unknown', 'submit answered without an id')
  }

  async function poll(ref: Opaque, signal: AbortSignal): Promise<VideoJobStatus> {
    const answer = await upstream.callJson({
      what: 'poll',
      method: 'GET',
      path: pathOf(ref),
      alsoFine: [404],
      signal,
    })
    if (answer.status === 404) return { kind: 'missing' }
    return statusIn(answer, {
      isDone: (word) => doneWords.has(word),
      isRefused: (word) => refusedWords.has(word),
      results: settings.results ?? 'bytes',
      redact: upstream.redact,
    })
  }

  async function openResult(ref: Opaque, result: Opaque, signal: AbortSignal): Promise<Readable> {
    const contentPath = () => `${pathOf(ref)}/content`
    return openVideo(upstream, { result, contentPath, poll: () => poll(ref, signal), signal })
  }

  async function lookup(taskId: string, signal: AbortSignal): Promise<Opaque | undefined> {
    const path = `/v1/videos?client_reference=${encodeURIComponent(taskId)}`
    const answer = await upstream.callJson({ what: 'lookup', method: 'GET', path, signal })
    const listed = Array.isArray(answer.body) ? answer.body : member(answer.body, 'data')
    if (!Array.isArray(listed)) throw new ProviderFailure('unknown', 'lookup answered without a list')
    // A vendor that ignores the filter lists all jobs, so each one is compared.
    const id = idOf(listed.find((entry) => textOf(member(entry, 'client_reference')) === taskId))
    if (id !== undefined) return { id }
    if (listed.length > 0) throw new ProviderFailure('unknown', 'lookup answered with other jobs')
    return undefined
  }

  async function discard(ref: Opaque, signal: AbortSignal): Promise<void> {
    const alsoFine = [404, 410]
    await upstream.callJson({ what: 'discard', method: 'DELETE', path: pathOf(ref), alsoFine, signal })
  }

  return {
    submitsAreIdempotent: settings.idempotentSubmits,
    canRemix: true,
    remixesOwnJobs: true,
    submit,
    poll,
    openResult,
    ...(settings.lookup === true ? { lookup } : {}),
    discard,
  }
}

function pathOf(ref: Opaque): string {
  const id = idOf(ref)
  if (id === undefined) {
    throw new ProviderFailure('rejected', 'not a reference of this provider', { code: 'upstream_error' })
  }
  return `/v1/videos/${encodeURIComponent(id)}`
}
