import type { IncomingMessage, ServerResponse } from 'node:http'

import { answerJson, hasBearer, refuseJson } from './answer-json.ts'
import type { AcceptedJob, JobStore, VendorJobState } from './job.ts'
import type { CreateProtocol } from './protocol.ts'
import { readText } from './read-create.ts'

const kind = 'kinora'
const file = /^\/v1\/video\/files\/([^/]+)\.mp4$/
const cancelled = /^\/v1\/videos\/([^/]+)\/cancel$/
const longSides = { small: 1280, large: 1920 }

const words: Record<VendorJobState, string> = {
  queued: 'pending',
  in_progress: 'processing',
  completed: 'completed',
  failed: 'failed',
  cancelled: 'failed',
  deleted: 'failed',
}
/** The status of a service that upscales videos in a second step. */
const wordsOfLarge: Record<VendorJobState, string> = {
  ...words,
  queued: 'IMAGE_DOWNLOADING',
  in_progress: 'video_generation_completed',
  completed: 'video_upsampling_completed',
}

/** The create-and-query endpoints of the Kinora API. `/v1/videos` is as in the OpenAI protocol. */
export const createKinoraProtocol: CreateProtocol = (store) => ({
  kind,
  accepts: (_method, { pathname }) =>
    pathname === '/v1/video/create' ||
    pathname === '/v1/video/query' ||
    file.test(pathname) ||
    cancelled.test(pathname),
  answer: async (request, response, url) => {
    const [, fileOf] = file.exec(url.pathname) ?? []
    if (fileOf !== undefined) {
      const job = store.find(fileOf)
      return job === undefined
        ? refuseJson(response, 404, 'media_not_found')
        : store.sendVideo(job, request, response, refuseJson)
    }
    if (!hasBearer(request.headers.authorization, store.apiKey)) {
      request.resume()
      return refuseJson(response, 401, 'invalid_api_key')
    }
    if (url.pathname === '/v1/video/create') return create(store, request, response)
    const [, toCancel] = cancelled.exec(url.pathname) ?? []
    const job = store.find(toCancel ?? url.searchParams.get('id') ?? '')
    if (job === undefined) return refuseJson(response, 404, 'task_not_found')
    if (
      !(await store.mayAnswer(toCancel === undefined ? 'poll' : 'cancel', job, request, response, refuseJson))
    )
      return
    if (toCancel !== undefined) store.cancel(job)
    answerJson(response, 200, describe(store, job))
  },
})

async function create(store: JobStore, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const asked = JSON.parse(await readText(request)) as Record<string, unknown>
  const { prompt, model, images = [], duration, aspect_ratio: ratio, size } = asked
  if (typeof prompt !== 'string') return refuseJson(response, 400, 'missing_parameter', 'prompt')
  const long = longSides[size === 'large' ? 'large' : 'small']
  const short = (long / 16) * 9
  const order = {
    kind,
    prompt,
    model: String(model),
    seconds: String(duration),
    size: ratio === '9:16' ? `${short}x${long}` : `${long}x${short}`,
    idempotencyKey: request.headers['idempotency-key']?.toString(),
    clientReference: undefined,
    referenceBytes: (images as string[]).reduce((sum, image) => sum + bytesOf(image), 0),
    remixOf: undefined,
    webhookUrl: undefined,
  }
  const job = await store.submit(request, response, order, refuseJson)
  if (job !== undefined) answerJson(response, 200, describe(store, job))
}

function bytesOf(dataUri: string): number {
  return Buffer.byteLength(dataUri.slice(dataUri.indexOf(',') + 1), 'base64')
}

function describe(store: JobStore, job: AcceptedJob): Record<string, unknown> {
  const state = job.state()
  const isLarge = job.size.includes(String(longSides.large))
  const code = state === 'cancelled' ? 'task_cancelled' : job.failCode
  return {
    id: job.id,
    status: (isLarge ? wordsOfLarge : words)[state],
    video_url: state === 'completed' ? `${store.url()}/v1/video/files/${job.id}.mp4` : null,
    enhanced_prompt: job.prompt,
    status_update_time: Date.now(),
    ...(code !== undefined && { error: { code, message: 'The simulated vendor was asked to fail.' } }),
  }
}
