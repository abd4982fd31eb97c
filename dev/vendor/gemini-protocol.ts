import type { IncomingMessage, ServerResponse } from 'node:http'

import { answerJson } from './answer-json.ts'
import { errorOf, isKnown, refuseGemini } from './gemini-errors.ts'
import type { AcceptedJob, JobStore } from './job.ts'
import type { CreateProtocol } from './protocol.ts'
import { readText } from './read-create.ts'

const kind = 'gemini'
const model = '(?<name>(?:projects/[^/]+/locations/[^/]+/publishers/google/)?models/(?<model>[^/:]+))'
const submitted = new RegExp(`^/v1(?:beta)?/${model}:predictLongRunning$`)
const fetched = new RegExp(`^/v1/${model}:fetchPredictOperation$`)
const operation = /^\/v1beta\/models\/[^/]+\/operations\/([^/]+)$/
const listed = /^\/(?:v1beta|v1\/projects\/[^/]+\/locations\/[^/]+)\/models$/
const file = /^\/v1beta\/files\/([^/]+):download$/

interface Image {
  bytesBase64Encoded?: string
}
interface Instance {
  prompt?: string
  image?: Image
  lastFrame?: Image
  referenceImages?: { image?: Image }[]
}

/** Long-running operations of both APIs: one returns a link, the other the video itself. */
export const createGeminiProtocol: CreateProtocol = (store) => ({
  kind,
  accepts: (_method, url) =>
    [submitted, fetched, operation, file, listed].some((route) => route.test(url.pathname)),
  answer: async (request, response, url) => {
    if (!isKnown(request, url, store.apiKey)) {
      request.resume()
      return refuseGemini(response, 401, 'invalid_api_key')
    }
    if (listed.test(url.pathname)) return answerJson(response, 200, { models: [] })
    if (submitted.test(url.pathname)) return create(store, request, response, url)
    const [, fileId] = file.exec(url.pathname) ?? []
    const isFetch = fetched.test(url.pathname)
    const id = fileId ?? (isFetch ? await idIn(request) : operation.exec(url.pathname)?.[1])
    const job = store.find(id ?? '')
    if (job === undefined) return refuseGemini(response, 404, 'not_found')
    if (fileId !== undefined) return store.sendVideo(job, request, response, refuseGemini)
    if (!(await store.mayAnswer('poll', job, request, response, refuseGemini))) return
    answerJson(response, 200, describe(store, job, isFetch))
  },
})

async function idIn(request: IncomingMessage): Promise<string | undefined> {
  const asked = JSON.parse(await readText(request)) as { operationName?: string }
  return asked.operationName?.split('/').at(-1)
}

async function create(
  store: JobStore,
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
): Promise<void> {
  const asked = JSON.parse(await readText(request)) as {
    instances?: Instance[]
    parameters?: { durationSeconds?: number; aspectRatio?: string; resolution?: string }
  }
  const [instance = {}] = asked.instances ?? []
  const { durationSeconds, aspectRatio, resolution } = asked.parameters ?? {}
  if ((instance.prompt ?? '') === '') return refuseGemini(response, 400, 'missing_prompt')
  const images = [
    instance.image,
    instance.lastFrame,
    ...(instance.referenceImages ?? []).map(({ image }) => image),
  ]
  const { name, model: asksFor } = submitted.exec(url.pathname)?.groups ?? {}
  const order = {
    kind,
    prompt: instance.prompt ?? '',
    model: asksFor ?? '',
    seconds: String(durationSeconds),
    size: `${aspectRatio} ${resolution}`,
    idempotencyKey: undefined,
    clientReference: undefined,
    referenceBytes: images.reduce(
      (sum, image) => sum + Buffer.byteLength(image?.bytesBase64Encoded ?? '', 'base64'),
      0,
    ),
    remixOf: undefined,
    webhookUrl: undefined,
  }
  const job = await store.submit(request, response, order, refuseGemini)
  if (job !== undefined) answerJson(response, 200, { name: `${name}/operations/${job.id}` })
}

function describe(store: JobStore, job: AcceptedJob, isInline: boolean): Record<string, unknown> {
  const name = `models/${job.model}/operations/${job.id}`
  const state = job.state()
  if (state === 'failed') {
    const code = job.failCode ?? ''
    if (code !== 'content_policy_violation') {
      // Operations have numeric codes where responses have names.
      const { status, message } = errorOf(400, code)
      return { name, done: true, error: { code: status === 'INVALID_ARGUMENT' ? 3 : 13, message } }
    }
    const filtered = { raiMediaFilteredCount: 1, raiMediaFilteredReasons: ['It was against the rules.'] }
    return { name, done: true, response: isInline ? filtered : { generateVideoResponse: filtered } }
  }
  if (state !== 'completed') return { name, metadata: { '@type': 'Simulated' } }
  if (isInline) {
    const bytesBase64Encoded = store.videoOf(job).toString('base64')
    return { name, done: true, response: { videos: [{ bytesBase64Encoded, mimeType: 'video/mp4' }] } }
  }
  const uri = `${store.url()}/v1beta/files/${job.id}:download?alt=media`
  return { name, done: true, response: { generateVideoResponse: { generatedSamples: [{ video: { uri } }] } } }
}
