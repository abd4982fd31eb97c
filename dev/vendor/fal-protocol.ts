import type { IncomingMessage, ServerResponse } from 'node:http'

import { answerJson } from './answer-json.ts'
import { createFalSigner, type FalSigner } from './fal-signature.ts'
import type { AcceptedJob, JobStore } from './job.ts'
import type { CreateProtocol } from './protocol.ts'
import { readText } from './read-create.ts'

const kind = 'fal'
const jwksPath = '/.well-known/jwks.json'
// The path of a model is any path of at least two segments that no other protocol has.
const queued = /^\/(?!_|v\d|openai\/|delivery\/|fal-files\/|files?\/)([\w.-]+\/[\w.-]+(?:\/[\w.-]+)*)$/
const existing = /^\/(?!v\d)([\w.-]+\/[\w.-]+)\/requests\/([^/]+)(?:\/(status|cancel))?$/
const file = /^\/fal-files\/([^/]+)\.mp4$/

const stateWords = { queued: 'IN_QUEUE', in_progress: 'IN_PROGRESS' } as const

/** The vendor's error of a requested code. */
const failures: Record<string, { status: number; type: string; field?: string }> = {
  content_policy_violation: { status: 422, type: 'content_policy_violation', field: 'prompt' },
  invalid_image: { status: 422, type: 'image_load_error', field: 'image_url' },
  invalid_parameter: { status: 422, type: 'value_error', field: 'duration' },
  server_error: { status: 500, type: 'internal_server_error' },
}

/** The queue protocol: status and result are separate, results have their own URLs, and webhooks are signed. */
export const createFalProtocol: CreateProtocol = (store) => {
  const signer = createFalSigner()
  return {
    kind,
    accepts: (method, { pathname }) =>
      pathname === jwksPath ||
      file.test(pathname) ||
      existing.test(pathname) ||
      (method === 'POST' && queued.test(pathname)),
    answer: async (request, response, url) => {
      if (url.pathname === jwksPath) return answerJson(response, 200, signer.jwks())
      const [, fileOf] = file.exec(url.pathname) ?? []
      if (fileOf !== undefined) {
        const job = store.find(fileOf)
        return job === undefined ? refuse(response, 404) : store.sendVideo(job, request, response, refuse)
      }
      if (!hasKey(request.headers.authorization, store.apiKey)) {
        request.resume()
        return refuse(response, 401, 'authentication_error')
      }
      const [, , id = '', part = 'result'] = existing.exec(url.pathname) ?? []
      if (id === '') return create(store, signer, request, response, url)
      const job = store.find(id)
      if (job === undefined) return refuse(response, 404, 'not_found')
      const asked = `${request.method} ${part}`
      if (asked === 'GET status') return poll(store, job, request, response)
      if (asked === 'GET result') return result(store, job, request, response)
      if (asked === 'PUT cancel') return cancel(store, job, request, response)
      refuse(response, 405, 'method_not_allowed')
    },
  }
}

async function create(
  store: JobStore,
  signer: FalSigner,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  const input = JSON.parse(await readText(request)) as Record<string, unknown>
  const prompt = typeof input['prompt'] === 'string' ? input['prompt'] : ''
  if (prompt === '') return refuse(response, 422, 'missing', 'prompt')
  const [, model = ''] = queued.exec(url.pathname) ?? []
  const order = {
    kind,
    prompt,
    model,
    seconds: String(input['duration']),
    size: sizeOf(String(input['aspect_ratio']), String(input['resolution'])),
    idempotencyKey: undefined,
    clientReference: undefined,
    referenceBytes: bytesOf(input['image_url']),
    remixOf: undefined,
    webhookUrl: url.searchParams.get('fal_webhook') ?? undefined,
  }
  const job = await store.submit(request, response, order, refuse, (accepted) =>
    store.onEnd(accepted, () => void deliverWebhook(signer, accepted)),
  )
  if (job === undefined) return
  const place = `${store.url()}/${model.split('/').slice(0, 2).join('/')}/requests/${job.id}`
  answerJson(response, 200, {
    request_id: job.id,
    gateway_request_id: job.id,
    status: 'IN_QUEUE',
    queue_position: 0,
    response_url: place,
    status_url: `${place}/status`,
    cancel_url: `${place}/cancel`,
  })
}

async function poll(store: JobStore, job: AcceptedJob, request: IncomingMessage, response: ServerResponse) {
  if (!(await store.mayAnswer('poll', job, request, response, refuse))) return
  const state = job.state()
  const status = state === 'queued' || state === 'in_progress' ? stateWords[state] : 'COMPLETED'
  const isBroken = failures[job.failCode ?? '']?.status === 500
  answerJson(response, status === 'COMPLETED' ? 200 : 202, {
    status,
    request_id: job.id,
    ...(status === 'IN_QUEUE' && { queue_position: 1 }),
    ...(status === 'COMPLETED' && { metrics: { inference_time: job.durationMs / 1000 } }),
    ...(isBroken && {
      error: 'The simulated vendor was asked to fail.',
      error_type: 'internal_server_error',
    }),
  })
}

async function result(store: JobStore, job: AcceptedJob, request: IncomingMessage, response: ServerResponse) {
  if (!(await store.mayAnswer('result', job, request, response, refuse))) return
  const state = job.state()
  if (state === 'queued' || state === 'in_progress') {
    return answerJson(response, 400, { detail: 'Request is still in progress' })
  }
  if (state === 'cancelled') return refuse(response, 422, 'request_cancelled')
  if (state === 'failed') {
    const known = failures[job.failCode ?? ''] ?? { status: 422, type: job.failCode ?? 'failed' }
    return refuse(response, known.status, known.type, known.field)
  }
  answerJson(response, 200, payloadOf(store.url(), job))
}

async function cancel(store: JobStore, job: AcceptedJob, request: IncomingMessage, response: ServerResponse) {
  if (!(await store.mayAnswer('cancel', job, request, response, refuse))) return
  const isOver = !['queued', 'in_progress'].includes(job.state())
  store.cancel(job)
  answerJson(response, isOver ? 400 : 202, {
    status: isOver ? 'ALREADY_COMPLETED' : 'CANCELLATION_REQUESTED',
  })
}

function payloadOf(url: string, job: AcceptedJob) {
  const video = { url: `${url}/fal-files/${job.id}.mp4`, content_type: 'video/mp4', file_name: 'output.mp4' }
  return { video, seed: 7, ...(job.prompt.includes('vendor:nsfw') && { has_nsfw_concepts: [true] }) }
}

const triesMax = 6

/**
 * Sends a webhook when a job has ended. `vendor:webhook=` in the prompt injects faults: `lost`, `twice`,
 * `forged`, `stale`, or `bare`, without a payload.
 */
async function deliverWebhook(signer: FalSigner, job: AcceptedJob): Promise<void> {
  const [, wrong = ''] = /\bvendor:webhook=([a-z]+)/.exec(job.prompt) ?? []
  if (wrong === 'lost' || job.webhookUrl === undefined) return
  const isBare = wrong === 'bare'
  const body = JSON.stringify({
    request_id: job.id,
    gateway_request_id: job.id,
    status: job.state() === 'completed' ? 'OK' : 'ERROR',
    payload: isBare ? null : payloadOf('https://files.vendor.example', job),
    ...(isBare && { payload_error: 'Response payload is not JSON serializable.' }),
  })
  const atSeconds = Math.floor(Date.now() / 1000) - (wrong === 'stale' ? 3_600 : 0)
  const signed = wrong === 'forged' ? body.replace(job.id, 'another') : body
  const headers = signer.headersOf(signed, { requestId: job.id, atSeconds })
  await deliver(job.webhookUrl, body, headers)
  if (wrong === 'twice') await deliver(job.webhookUrl, body, headers)
}

/** Retries for a while; the real vendor does so for hours. */
async function deliver(url: string, body: string, headers: Record<string, string>): Promise<void> {
  for (let tries = 0; tries < triesMax; tries += 1) {
    const answered = await fetch(url, {
      method: 'POST',
      body,
      headers: { ...headers, 'content-type': 'application/json' },
      signal: AbortSignal.timeout(15_000),
    }).then(
      ({ ok, body: said }) => (said === null ? Promise.resolve() : said.cancel()).then(() => ok),
      () => false,
    )
    if (answered) return
    await new Promise<void>((resolve) => {
      setTimeout(resolve, 100 * 2 ** tries).unref()
    })
  }
}

function hasKey(authorization: string | undefined, apiKey: string | undefined): boolean {
  const given = authorization ?? ''
  return apiKey === undefined ? /^Key \S/.test(given) : given === `Key ${apiKey}`
}

/** The requested size, as other protocols write it. */
function sizeOf(ratio: string, resolution: string): string {
  const [across = Number.NaN, down = Number.NaN] = ratio.split(':').map(Number)
  const lines = Number.parseInt(resolution, 10)
  if (Number.isNaN(across + down + lines)) return `${ratio} ${resolution}`
  const long = Math.round((lines * Math.max(across, down)) / Math.min(across, down) / 2) * 2
  return across >= down ? `${long}x${lines}` : `${lines}x${long}`
}

function bytesOf(uri: unknown): number {
  const [, data = ''] = /^data:[^;,]+;base64,(.*)$/s.exec(typeof uri === 'string' ? uri : '') ?? []
  return Buffer.byteLength(data, 'base64')
}

function refuse(response: ServerResponse, status: number, type = 'refused', field?: string): void {
  const loc = field === undefined ? ['body'] : ['body', field]
  answerJson(response, status, { detail: [{ loc, msg: 'The simulated vendor refuses.', type }] })
}
