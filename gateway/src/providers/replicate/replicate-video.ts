/** The predictions protocol: every model has its own input schema, and the output is a URL. */
import type { Readable } from 'node:stream'

import { Type } from 'typebox'

import { privateDocument } from '../kit/access/access-calls.ts'
import { jsonWithTexts } from '../kit/http/json-with-texts.ts'
import { refusalCodeOfSentence } from '../kit/http/refusal-message.ts'
import { upstreamAt } from '../kit/http/upstream-http.ts'
import { member, textOf } from '../kit/json/lenient-json.ts'
import { notAcceptedStatuses } from '../kit/not-accepted.ts'
import { protocol } from '../kit/protocol.ts'
import { fillingNames, inputOf, type ModelInput, modelInput, takes } from '../kit/video/model-input.ts'
import { ProviderFailure } from '../port/failure.ts'
import type { Opaque, VideoJob, VideoJobStatus, VideoProvider } from '../port/video.ts'

/** Fits most models of the vendor: they ignore unknown fields. */
const usualInput: ModelInput = {
  prompt: 'prompt',
  duration: 'seconds-number',
  aspect_ratio: 'aspect-ratio',
  image: 'image',
}

export const replicate = protocol({
  about: {
    title: 'Replicate',
    description: 'Video models of Replicate.',
    capabilities: ['video'],
    needsKey: true,
  },
  defaultBaseUrl: 'https://api.replicate.com/v1',
  settings: Type.Object({
    // Nothing is documented, and the vendor's client library repeats a create after 429 only.
    notAcceptedStatuses: notAcceptedStatuses([]),
    input: modelInput({
      default: usualInput,
      description: `The value of each field of a model's input: ${fillingNames.join(', ')}.`,
    }),
    fixed: Type.Record(Type.String(), Type.Unknown(), {
      default: {},
      description: 'Constant fields of the input, such as `{fps: 24}`.',
    }),
  }),
  connect: (connection, own) => ({
    video: replicateVideo({ ...connection, ...own }),
    access: privateDocument(
      { ...connection, baseUrl: connection.baseUrl.replace(/\/v1\/*$/, '') },
      '/v1/account',
    ),
  }),
})

export interface ReplicateSettings {
  /** With or without `/v1` at the end. */
  baseUrl: string
  apiKey: string | undefined
  connections?: number | undefined
  traceparent?: boolean | undefined
  resultOrigins?: string[] | undefined
  input: ModelInput
  fixed: Record<string, unknown>
}

const refusedWords = new Set(['failed', 'canceled', 'aborted'])

export function replicateVideo(settings: ReplicateSettings): VideoProvider {
  const upstream = upstreamAt({
    baseUrl: settings.baseUrl.replace(/\/v1\/*$/, ''),
    apiKey: settings.apiKey,
    connections: settings.connections,
    traceparent: settings.traceparent,
    resultOrigins: settings.resultOrigins,
  })

  async function submit(job: VideoJob, signal: AbortSignal): Promise<Opaque> {
    if (job.source !== undefined) {
      throw new ProviderFailure('rejected', 'this protocol has no remix', { code: 'upstream_error' })
    }
    const { path, version } = modelOf(job.model)
    const answer = await upstream.callJson({
      what: 'submit',
      method: 'POST',
      path,
      body: jsonWithTexts((insert) => ({
        ...version,
        input: { ...settings.fixed, ...inputOf(job, settings.input, insert) },
      })),
      // The protocol has no idempotency key.
      freshConnection: true,
      signal,
    })
    const id = idOf(answer.body)
    if (id === undefined) throw new ProviderFailure('unknown', 'submit answered without an id')
    return { id }
  }

  async function poll(ref: Opaque, signal: AbortSignal): Promise<VideoJobStatus> {
    const path = pathOf(ref)
    const answer = await upstream.callJson({ what: 'poll', method: 'GET', path, alsoFine: [404], signal })
    if (answer.status === 404) return { kind: 'missing' }
    const word = textOf(member(answer.body, 'status'))?.toLowerCase()
    if (word === undefined) throw new ProviderFailure('unknown', 'poll answered without a status')
    if (word === 'succeeded') {
      const url = linkIn(member(answer.body, 'output'))
      if (url !== undefined) return { kind: 'done', result: { url } }
      const message = member(answer.body, 'data_removed') === true ? 'the output was removed' : 'no output'
      return { kind: 'refused', code: 'upstream_error', message }
    }
    if (refusedWords.has(word)) {
      const error = textOf(member(answer.body, 'error')) ?? ''
      const message = upstream.redact(`${word}: ${error}`)
      return { kind: 'refused', code: refusalCodeOfSentence(error), message }
    }
    return { kind: 'running', progress: undefined }
  }

  async function openResult(ref: Opaque, result: Opaque, signal: AbortSignal): Promise<Readable> {
    pathOf(ref)
    const url = linkIn(result)
    if (url === undefined) throw notOurs()
    return upstream.openLink({ what: 'download', url, signal })
  }

  async function cancel(ref: Opaque, signal: AbortSignal): Promise<void> {
    const path = `${pathOf(ref)}/cancel`
    await upstream.callJson({ what: 'cancel', method: 'POST', path, alsoFine: [404], signal })
  }

  // The vendor deletes inputs and outputs after an hour, so there is nothing to discard.
  return {
    submitsAreIdempotent: false,
    canRemix: false,
    canChooseSound: () => takes(settings.input, 'sound'),
    usesVideo: () => takes(settings.input, 'video'),
    usesAudio: () => takes(settings.input, 'audio'),
    submit,
    poll,
    openResult,
    cancel,
  }
}

/** `owner/name` runs the latest version; `owner/name:version`, or a version alone, is pinned. */
function modelOf(model: string): { path: string; version?: { version: string } } {
  const [, owner = '', name = '', version] = /^([^/:]+)\/([^/:]+)(?::(.+))?$/.exec(model) ?? []
  if (owner === '' || version !== undefined) {
    return { path: '/v1/predictions', version: { version: version ?? model } }
  }
  return { path: `/v1/models/${encodeURIComponent(owner)}/${encodeURIComponent(name)}/predictions` }
}

function idOf(prediction: unknown): string | undefined {
  const id = textOf(member(prediction, 'id'))
  return id !== undefined && /^[\w-]{1,512}$/.test(id) ? id : undefined
}

function pathOf(ref: Opaque): string {
  const id = idOf(ref)
  if (id === undefined) throw notOurs()
  return `/v1/predictions/${id}`
}

function notOurs(): ProviderFailure {
  return new ProviderFailure('rejected', 'not a reference of this provider', { code: 'upstream_error' })
}

/** The output is a URL, a list of URLs, or an object with a URL. */
function linkIn(output: unknown): string | undefined {
  if (Array.isArray(output)) return output.map(linkIn).find((link) => link !== undefined)
  if (typeof output === 'string') return URL.canParse(output) ? output : undefined
  return [member(output, 'video'), member(output, 'url')].map(textOf).find((link) => link !== undefined)
}
