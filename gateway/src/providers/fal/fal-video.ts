import type { Readable } from 'node:stream'

import { jsonWithTexts } from '../kit/http/json-with-texts.ts'
import { upstreamAt } from '../kit/http/upstream-http.ts'
import { vendorErrorIn, refusalCodeOf } from '../kit/http/vendor-error.ts'
import { member, textOf } from '../kit/json/lenient-json.ts'
import { inputOf, takes, type ModelInput } from '../kit/video/model-input.ts'
import { openOrRefreshUrl } from '../kit/video/result-link.ts'
import { ProviderFailure } from '../port/failure.ts'
import type {
  Delivery,
  WebhookEvent,
  Opaque,
  RefusalCode,
  VideoJob,
  VideoJobStatus,
  VideoProvider,
} from '../port/video.ts'
import { falWebhook } from './fal-webhook.ts'

export interface FalVideoSettings {
  baseUrl: string
  apiKey: string
  connections?: number | undefined
  traceparent?: boolean | undefined
  resultOrigins?: string[] | undefined
  input: ModelInput
  /** Replaces `input` for single models, by the vendor's name of the model. */
  inputs: Record<string, ModelInput>
  /** Sent with every job unchanged. */
  fixed: Record<string, unknown>
  /** The model for image input, by the model for text input. */
  withImage: Record<string, string>
  jwksUrl: string
  userId: string
}

/** Identifies a job: `app` is the path of its requests. */
interface Place {
  id: string
  app: string
}

const step = '[A-Za-z0-9_][\\w.-]*'
const modelShape = new RegExp(`^${step}(/${step}){1,7}$`)
const idShape = /^[\w.:-]{1,200}$/
/** Errors of the vendor, whatever field they name. */
const ownFault = /^(downstream_service|generation_timeout|internal_server|gateway|runner|startup|no_media)/

/** The queue protocol: submit a job, poll its status, then fetch its result, which can also be an error. */
export function falVideo(settings: FalVideoSettings): VideoProvider {
  const upstream = upstreamAt({
    baseUrl: settings.baseUrl,
    credential: { authorization: `Key ${settings.apiKey}` },
    connections: settings.connections,
    traceparent: settings.traceparent,
    resultOrigins: settings.resultOrigins,
  })
  const base = new URL(settings.baseUrl)
  const basePath = base.pathname.replace(/\/+$/, '')
  const verify = falWebhook(settings)

  function modelOf(job: VideoJob): string {
    const model = (job.references.length > 0 ? settings.withImage[job.model] : undefined) ?? job.model
    if (!modelShape.test(model)) {
      throw new ProviderFailure('rejected', `${model} is not of the form owner/app`, {
        code: 'upstream_error',
      })
    }
    return model
  }

  /** The path of the job's status URL, if that is at the vendor's origin. */
  function placeIn(answer: unknown, id: string): string | undefined {
    const url = URL.parse(textOf(member(answer, 'status_url')) ?? '')
    const end = `/requests/${id}/status`
    if (url?.origin !== base.origin || !url.pathname.endsWith(end)) return undefined
    const path = url.pathname.slice(0, -end.length)
    const app = path.startsWith(`${basePath}/`) ? path.slice(basePath.length + 1) : ''
    return modelShape.test(app) ? app : undefined
  }

  async function submit(job: VideoJob, signal: AbortSignal): Promise<Opaque> {
    if (job.source !== undefined) {
      throw new ProviderFailure('rejected', 'this protocol makes no remixes', { code: 'upstream_error' })
    }
    const model = modelOf(job)
    const input = settings.inputs[model] ?? settings.inputs[job.model] ?? settings.input
    const { body } = await upstream.callJson({
      what: 'submit',
      method: 'POST',
      path: `/${model}${webhookQuery(job.webhookUrl, appOf(model))}`,
      // Disables the vendor's own retries; Kinora decides about them.
      headers: { 'x-fal-no-retry': '1' },
      body: jsonWithTexts((insert) => ({ ...settings.fixed, ...inputOf(job, input, insert) })),
      freshConnection: true,
      signal,
    })
    const id = textOf(member(body, 'request_id'))
    if (id === undefined || !isId(id)) throw new ProviderFailure('unknown', 'submit answered without an id')
    return { id, app: placeIn(body, id) ?? appOf(model) }
  }

  async function poll(ref: Opaque, signal: AbortSignal): Promise<VideoJobStatus> {
    const path = `${pathOf(ref)}/status`
    const answer = await upstream.callJson({ what: 'poll', method: 'GET', path, alsoFine: [404], signal })
    if (answer.status === 404) return { kind: 'missing' }
    const word = textOf(member(answer.body, 'status'))?.toUpperCase()
    if (word === undefined) throw new ProviderFailure('unknown', 'poll answered without a status')
    // The protocol has no progress. An unknown status counts as running.
    if (word !== 'COMPLETED') return { kind: 'running', progress: undefined }
    return readResult(ref, answer.body, signal)
  }

  /** `COMPLETED` only means that the job has ended; the result has the outcome. */
  async function readResult(ref: Opaque, statusBody: unknown, signal: AbortSignal): Promise<VideoJobStatus> {
    const { status, body } = await upstream.callJson({
      what: 'result',
      method: 'GET',
      path: pathOf(ref),
      alsoRead: [400, 404, 409, 410, 413, 415, 422, ...(hasError(statusBody) ? [500, 502, 503, 504] : [])],
      signal,
    })
    if (status >= 400) {
      if (isTooEarly(body)) return { kind: 'running', progress: undefined }
      if (status === 404 && !hasError(statusBody)) return { kind: 'missing' }
      return refused(hasError(body) ? body : statusBody)
    }
    const result = member(body, 'response') ?? body
    if (isUnsafe(member(result, 'has_nsfw_concepts'))) {
      return { kind: 'refused', code: 'content_policy_violation', message: 'has_nsfw_concepts' }
    }
    const url = videoUrlIn(result)
    if (url !== undefined) return { kind: 'done', result: { url } }
    if (hasError(body) || hasError(statusBody)) return refused(hasError(body) ? body : statusBody)
    return { kind: 'refused', code: 'upstream_error', message: 'completed without a video' }
  }

  function refused(answer: unknown): VideoJobStatus {
    const vendorError = vendorErrorIn(answer)
    const kind = vendorError?.code ?? vendorError?.type ?? textOf(member(answer, 'error_type'))
    const message = ['failed', kind, vendorError?.message].filter((part) => part !== undefined).join(': ')
    const code: RefusalCode = ownFault.test(kind ?? '')
      ? 'upstream_error'
      : refusalCodeOf(
          vendorError === undefined ? undefined : { ...vendorError, type: vendorError.type ?? kind },
        )
    return { kind: 'refused', code, message: upstream.redact(message) }
  }

  async function openResult(ref: Opaque, result: Opaque, signal: AbortSignal): Promise<Readable> {
    placeOf(ref)
    const url = textOf(member(result, 'url'))
    if (url === undefined) throw notOurs()
    const open = (link: string) => upstream.openLink({ what: 'download', url: link, signal })
    return openOrRefreshUrl(open, url, () => poll(ref, signal))
  }

  async function cancel(ref: Opaque, signal: AbortSignal): Promise<void> {
    const path = `${pathOf(ref)}/cancel`
    await upstream.callJson({ what: 'cancel', method: 'PUT', path, alsoFine: [400, 404], signal })
  }

  async function readWebhook(delivery: Delivery): Promise<WebhookEvent> {
    const { jobId } = await verify(delivery)
    const app = delivery.note ?? ''
    if (!modelShape.test(app)) throw new ProviderFailure('rejected', 'the delivery names no model')
    return { ref: { id: jobId, app }, id: jobId }
  }

  return {
    submitsAreIdempotent: false,
    canRemix: false,
    canChooseSound: (model) => takes(settings.inputs[model] ?? settings.input, 'sound'),
    usesVideo: (model) => takes(settings.inputs[model] ?? settings.input, 'video'),
    usesAudio: (model) => takes(settings.inputs[model] ?? settings.input, 'audio'),
    submit,
    poll,
    openResult,
    cancel,
    readWebhook,
    isSameJob: (one, other) => placeOf(one).id === placeOf(other).id,
  }
}

/** A webhook does not name its model, so the webhook URL does. */
function webhookQuery(webhookUrl: string | undefined, app: string): string {
  if (webhookUrl === undefined) return ''
  const url = new URL(webhookUrl)
  url.searchParams.set('note', app)
  return `?fal_webhook=${encodeURIComponent(url.href)}`
}

/** The path of requests has only owner and app, whatever subpath was called. Workflows have one more segment in front. */
function appOf(model: string): string {
  return model
    .split('/')
    .slice(0, model.startsWith('workflows/') ? 3 : 2)
    .join('/')
}

function isId(text: string): boolean {
  return idShape.test(text) && text !== '.' && text !== '..'
}

function placeOf(ref: Opaque): Place {
  const id = textOf(member(ref, 'id'))
  const app = textOf(member(ref, 'app'))
  if (id === undefined || app === undefined || !isId(id) || !modelShape.test(app)) throw notOurs()
  return { id, app }
}

function pathOf(ref: Opaque): string {
  const { id, app } = placeOf(ref)
  return `/${app}/requests/${encodeURIComponent(id)}`
}

function notOurs(): ProviderFailure {
  return new ProviderFailure('rejected', 'not a reference of this provider', { code: 'upstream_error' })
}

function hasError(answer: unknown): boolean {
  return ['error', 'error_type', 'detail'].some((name) => member(answer, name) !== undefined)
}

/** A result that is not ready yet is a 400 that only its message distinguishes. */
function isTooEarly(answer: unknown): boolean {
  return /still in (progress|queue)/i.test(vendorErrorIn(answer)?.message ?? '')
}

/** One flag per output, or one for all. */
function isUnsafe(flags: unknown): boolean {
  return Array.isArray(flags) ? flags.includes(true) : flags === true
}

/** Most models use `video.url`; some use one of the others. */
function videoUrlIn(result: unknown): string | undefined {
  const videos = member(result, 'videos')
  const candidates = [member(result, 'video'), Array.isArray(videos) ? videos[0] : undefined]
  const found = [...candidates, member(result, 'output'), result].flatMap((each) => [
    each,
    member(each, 'url'),
    member(each, 'video_url'),
    member(member(each, 'video'), 'url'),
  ])
  return found.map(textOf).find((text) => text !== undefined && /^https?:\/\//i.test(text))
}
