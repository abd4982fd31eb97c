import type { IncomingMessage, ServerResponse } from 'node:http'

import { answerJson, hasBearer, refuseJson } from './answer-json.ts'
import type { AcceptedJob, JobStore } from './job.ts'
import type { CreateProtocol } from './protocol.ts'
import { readCreate } from './read-create.ts'

const kind = 'openai'
const route = /^\/v1\/videos(?:\/([^/]+)(?:\/(content|remix))?)?$/

/** The `/v1/videos` protocol. */
export const createOpenAiProtocol: CreateProtocol = (store) => ({
  kind,
  accepts: (_method, url) => route.test(url.pathname),
  answer: async (request, response, url) => {
    if (!hasBearer(request.headers.authorization, store.apiKey)) {
      request.resume()
      return refuseJson(response, 401, 'invalid_api_key')
    }
    const [, id, part] = route.exec(url.pathname) ?? []
    const asked = `${request.method} ${id === undefined ? 'all' : (part ?? 'one')}`
    if (asked === 'POST all') return create(store, request, response)
    if (asked === 'GET all') return list(store, request, response, url)
    const job = store.find(id ?? '')
    if (job === undefined) return refuseJson(response, 404, 'not_found')
    if (asked === 'POST remix') return create(store, request, response, job)
    if (asked === 'GET content') return store.sendVideo(job, request, response, refuseJson)
    if (asked === 'GET one') return poll(store, job, request, response)
    if (asked !== 'DELETE one') return refuseJson(response, 405, 'method_not_allowed')
    store.remove(job)
    answerJson(response, 200, { id: job.id, object: 'video.deleted', deleted: true })
  },
})

/** Accepts a new job, or a remix, which has model, length and size of its source. */
async function create(
  store: JobStore,
  request: IncomingMessage,
  response: ServerResponse,
  source?: AcceptedJob,
): Promise<void> {
  const asked = await readCreate(request)
  if (asked === undefined) return refuseJson(response, 400, 'invalid_body')
  const prompt = asked.fields.get('prompt') ?? ''
  if (prompt === '') return refuseJson(response, 400, 'missing_required_parameter', 'prompt')
  if (source !== undefined && source.state() !== 'completed') {
    return refuseJson(response, 400, 'video_not_ready')
  }
  const order = {
    kind,
    prompt,
    model: source?.model ?? asked.fields.get('model') ?? '',
    seconds: source?.seconds ?? asked.fields.get('seconds') ?? '4',
    size: source?.size ?? asked.fields.get('size') ?? '720x1280',
    idempotencyKey: request.headers['idempotency-key']?.toString(),
    clientReference: asked.fields.get('client_reference'),
    referenceBytes: asked.referenceBytes,
    remixOf: source?.id,
    webhookUrl: undefined,
  }
  const job = await store.submit(request, response, order, refuseJson)
  if (job !== undefined) answerJson(response, 200, describe(store, job))
}

async function poll(
  store: JobStore,
  job: AcceptedJob,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (!(await store.mayAnswer('poll', job, request, response, refuseJson))) return
  const pollAfterMs = Math.min(Math.max(Math.round(job.durationMs / 5), 20), 5000)
  response.setHeader('openai-poll-after-ms', String(pollAfterMs))
  answerJson(response, 200, describe(store, job))
}

/** Lists by reference only. */
async function list(
  store: JobStore,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  const job = store.findByReference(url.searchParams.get('client_reference') ?? '')
  if (job !== undefined && !(await store.mayAnswer('lookup', job, request, response, refuseJson))) return
  answerJson(response, 200, { object: 'list', data: job === undefined ? [] : [describe(store, job)] })
}

/** The original format, with the link that variants add. */
function describe(store: JobStore, job: AcceptedJob): Record<string, unknown> {
  const state = job.state()
  return {
    id: job.id,
    object: 'video',
    model: job.model,
    status: state,
    progress: state === 'queued' ? 0 : Math.floor(job.doneShare() * 100),
    created_at: Math.floor(job.acceptedAtMs / 1000),
    seconds: job.seconds,
    size: job.size,
    client_reference: job.clientReference ?? null,
    remixed_from_video_id: job.remixOf ?? null,
    video_url: state === 'completed' ? `${store.url()}/v1/videos/${job.id}/content` : null,
    error:
      state === 'failed' ? { code: job.failCode, message: 'The simulated vendor was asked to fail.' } : null,
  }
}
