import type { Readable } from 'node:stream'

import { multipart } from '../kit/http/multipart.ts'
import { upstreamAt } from '../kit/http/upstream-http.ts'
import { vendorErrorIn, refusalCodeOf } from '../kit/http/vendor-error.ts'
import { member, numberOf, textOf } from '../kit/json/lenient-json.ts'
import { areFrames, inOrder } from '../kit/video/image-order.ts'
import { clipParts, referencePart, sourcePart } from '../kit/video/reference-part.ts'
import { ProviderFailure } from '../port/failure.ts'
import type { Opaque, VideoJob, VideoJobStatus, VideoProvider } from '../port/video.ts'

export interface LocalVideoSettings {
  baseUrl: string
  traceparent?: boolean | undefined
}

/** The built-in provider. Jobs are stored under our task id, so submits are idempotent. */
export function localVideo(settings: LocalVideoSettings): VideoProvider {
  const upstream = upstreamAt({ baseUrl: settings.baseUrl, traceparent: settings.traceparent })

  async function submit(job: VideoJob, signal: AbortSignal): Promise<Opaque> {
    const { model, prompt, seconds, width, height, watermark, style, sound, source } = job
    const references = inOrder(job.references)
    const referenceMode = modeOf(references)
    const characters =
      job.characters.length === 0 ? undefined : job.characters.map(({ username }) => username)
    const described = {
      ...{ model, prompt, seconds, width, height, watermark, style, referenceMode, sound, characters },
    }
    const files = [
      ...references.map((image, index) => referencePart('reference', image, index)),
      ...job.characters.map(({ image }, index) => referencePart('character', image, index)),
      ...(source === undefined ? [] : [sourcePart('source', source)]),
      ...clipParts(job, { video: 'source', audio: 'soundtrack' }),
    ]
    const answer = await upstream.callJson({
      what: 'submit',
      method: 'PUT',
      path: pathOf({ id: job.taskId }),
      body: multipart([{ name: 'job', value: JSON.stringify(described) }, ...files]),
      signal,
    })
    if (textOf(member(answer.body, 'state')) === undefined) {
      throw new ProviderFailure('unknown', 'submit answered without a state')
    }
    return { id: job.taskId }
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
    const state = textOf(member(answer.body, 'state'))
    if (state === undefined) throw new ProviderFailure('unknown', 'poll answered without a state')
    if (state === 'done') return { kind: 'done', result: null }
    if (state === 'failed') {
      const vendorError = vendorErrorIn(answer.body)
      const parts = ['failed', vendorError?.code, vendorError?.message].filter((part) => part !== undefined)
      return { kind: 'refused', code: refusalCodeOf(vendorError), message: upstream.redact(parts.join(': ')) }
    }
    return { kind: 'running', progress: numberOf(member(answer.body, 'progress')) }
  }

  async function openResult(ref: Opaque, _result: Opaque, signal: AbortSignal): Promise<Readable> {
    return upstream.openStream({ what: 'download', method: 'GET', path: `${pathOf(ref)}/result`, signal })
  }

  async function remove(what: string, ref: Opaque, signal: AbortSignal): Promise<void> {
    await upstream.callJson({ what, method: 'DELETE', path: pathOf(ref), alsoFine: [404], signal })
  }

  return {
    submitsAreIdempotent: true,
    canRemix: true,
    canChooseSound: () => true,
    usesVideo: () => true,
    usesAudio: () => true,
    submit,
    poll,
    openResult,
    // Deleting a job also stops its rendering.
    discard: (ref, signal) => remove('discard', ref, signal),
    cancel: (ref, signal) => remove('cancel', ref, signal),
  }
}

/** The built-in provider uses all images in one way. */
function modeOf(references: VideoJob['references']): 'frames' | 'components' | undefined {
  if (references.some(({ role }) => role === 'reference')) return 'components'
  return areFrames(references) ? 'frames' : undefined
}

function pathOf(ref: Opaque): string {
  const id = textOf(member(ref, 'id'))
  if (id === undefined) {
    throw new ProviderFailure('rejected', 'not a reference of this provider', { code: 'upstream_error' })
  }
  return `/jobs/${encodeURIComponent(id)}`
}
