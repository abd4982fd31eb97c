import type { IncomingMessage, ServerResponse } from 'node:http'

import { answerJson, hasBearer } from './answer-json.ts'
import type { BookedJob, JobBook, VendorJobState } from './job-book.ts'
import type { CreateProtocol } from './protocol.ts'
import { readText } from './read-create.ts'

const kind = 'replicate'
const created = /^\/v1\/(?:models\/([^/]+\/[^/]+)\/)?predictions$/
const existing = /^\/v1\/predictions\/([^/]+)(?:\/(cancel))?$/
const delivery = /^\/delivery\/([^/]+)\/output\.mp4$/

const words: Record<VendorJobState, string> = {
  queued: 'starting',
  in_progress: 'processing',
  completed: 'succeeded',
  failed: 'failed',
  cancelled: 'canceled',
  deleted: 'canceled',
}

/** The predictions protocol. Its results are links that anybody may open. */
export const createReplicateProtocol: CreateProtocol = (book) => ({
  kind,
  takes: (_method, url) => [created, existing, delivery].some((route) => route.test(url.pathname)),
  answer: async (request, response, url) => {
    const [, file] = delivery.exec(url.pathname) ?? []
    if (file !== undefined) {
      const job = book.find(file)
      return job === undefined ? refuse(response, 404) : book.sendVideo(job, request, response, refuse)
    }
    if (!hasBearer(request.headers.authorization, book.apiKey)) {
      request.resume()
      return refuse(response, 401)
    }
    const [, id, part] = existing.exec(url.pathname) ?? []
    if (id === undefined) return create(book, request, response, url)
    const job = book.find(id)
    if (job === undefined) return refuse(response, 404)
    const occasion = part === 'cancel' ? 'cancel' : 'poll'
    if (!(await book.isToAnswer(occasion, job, request, response, refuse))) return
    if (occasion === 'cancel') book.cancel(job)
    answerJson(response, 200, describe(book, job))
  },
})

async function create(
  book: JobBook,
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
  const job = await book.submit(request, response, order, refuse)
  if (job !== undefined) answerJson(response, 201, describe(book, job))
}

function describe(book: JobBook, job: BookedJob): Record<string, unknown> {
  const state = job.state()
  const at = `${book.url()}/v1/predictions/${job.id}`
  return {
    id: job.id,
    model: job.model,
    input: { prompt: job.prompt },
    status: words[state],
    output: state === 'completed' ? `${book.url()}/delivery/${job.id}/output.mp4` : null,
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
