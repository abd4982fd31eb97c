import type { IncomingMessage, ServerResponse } from 'node:http'

import { answerJson, hasBearer } from './answer-json.ts'
import type { AcceptedJob, JobStore, VendorJobState } from './job.ts'
import type { CreateProtocol } from './protocol.ts'
import { readText } from './read-create.ts'

const kind = 'replicate'
const created = /^\/v1\/(?:models\/([^/]+\/[^/]+)\/)?predictions$/
const existing = /^\/v1\/predictions\/([^/]+)(?:\/(cancel))?$/
const account = '/v1/account'
const delivery = /^\/delivery\/([^/]+)\/output\.mp4$/

const words: Record<VendorJobState, string> = {
  queued: 'starting',
  in_progress: 'processing',
  completed: 'succeeded',
  failed: 'failed',
  cancelled: 'canceled',
  deleted: 'canceled',
}

/** The predictions protocol. Its results are public links. */
export const createReplicateProtocol: CreateProtocol = (store) => ({
  kind,
  accepts: (_method, { pathname }) =>
    pathname === account || [created, existing, delivery].some((route) => route.test(pathname)),
  answer: async (request, response, url) => {
    const [, file] = delivery.exec(url.pathname) ?? []
    if (file !== undefined) {
      const job = store.find(file)
      return job === undefined ? refuse(response, 404) : store.sendVideo(job, request, response, refuse)
    }
    if (!hasBearer(request.headers.authorization, store.apiKey)) {
      request.resume()
      return refuse(response, 401)
    }
    if (url.pathname === account) return answerJson(response, 200, { type: 'user', username: 'simulated' })
    const [, id, part] = existing.exec(url.pathname) ?? []
    if (id === undefined) return create(store, request, response, url)
    const job = store.find(id)
    if (job === undefined) return refuse(response, 404)
    const occasion = part === 'cancel' ? 'cancel' : 'poll'
    if (!(await store.mayAnswer(occasion, job, request, response, refuse))) return
    if (occasion === 'cancel') store.cancel(job)
    answerJson(response, 200, describe(store, job))
  },
})

async function create(
  store: JobStore,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  const asked = JSON.parse(await readText(request)) as { version?: string; input?: Record<string, unknown> }
  const { prompt, duration, aspect_ratio: ratio, image } = asked.input ?? {}
  if (typeof prompt !== 'string' || prompt === '') return refuse(response, 422, '- input: prompt is required')
  const [, data = ''] = /^data:[^;,]+;base64,(.*)$/s.exec(typeof image === 'string' ? image : '') ?? []
  const [, model] = created.exec(url.pathname) ?? []
  const order = {
    kind,
    prompt,
    model: model ?? asked.version ?? '',
    seconds: String(duration),
    size: String(ratio),
    idempotencyKey: undefined,
    clientReference: undefined,
    referenceBytes: Buffer.byteLength(data, 'base64'),
    remixOf: undefined,
    webhookUrl: undefined,
  }
  const job = await store.submit(request, response, order, refuse)
  if (job !== undefined) answerJson(response, 201, describe(store, job))
}

function describe(store: JobStore, job: AcceptedJob): Record<string, unknown> {
  const state = job.state()
  const at = `${store.url()}/v1/predictions/${job.id}`
  return {
    id: job.id,
    model: job.model,
    input: { prompt: job.prompt },
    status: words[state],
    output: state === 'completed' ? `${store.url()}/delivery/${job.id}/output.mp4` : null,
    data_removed: false,
    error: state === 'failed' ? `${job.failCode}: The simulated vendor was asked to fail.` : null,
    created_at: new Date(job.acceptedAtMs).toISOString(),
    urls: { get: at, cancel: `${at}/cancel` },
  }
}

function refuse(response: ServerResponse, status: number, code?: string): void {
  const detail = code ?? 'The simulated vendor refuses.'
  answerJson(response, status, { title: 'Refused', detail, status })
}
