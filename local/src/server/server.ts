import { createReadStream } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { availableParallelism } from 'node:os'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'

import { findPrograms } from '../ffmpeg/programs.ts'
import { findFfmpeg, findFonts, type FfmpegSettings } from '../ffmpeg/sandbox.ts'
import { openJobDirectory } from '../jobs/job-directory.ts'
import { drain, receiveJob } from '../jobs/job-upload.ts'
import { InvalidJob, type JobRecord } from '../jobs/job.ts'
import { parsePrompt } from '../jobs/simulation.ts'
import type { Log } from '../log.ts'
import { openModelDirectory } from '../models/model-directory.ts'
import { endpointOf, type Observer } from '../observer.ts'
import { createRenderQueue, type LiveJob } from '../rendering/render-queue.ts'
import { emptyWorkDirectory } from '../work-folder.ts'
import { createAudio } from './audio.ts'

const waitingMax = 1000
const retainFinishedMs = 24 * 60 * 60 * 1000
const sweepEveryMs = 60 * 60 * 1000
const busyRetrySeconds = 5

export interface LocalProviderOptions extends FfmpegSettings {
  host: string
  port: number
  /** The directory of jobs, which survive a restart, and of the files of requests, which do not. */
  directory: string
  /** The directory of pulled models; the provider never pulls models itself. */
  modelDirectory: string
  /** How many films are rendered concurrently; one per core by default. */
  renders?: number
  /** The message that refuses a Host header; undefined if this server answers for it. */
  hostProblem?: (host: string | undefined) => string | undefined
  observer?: Observer
  log: Log
}

export interface LocalProvider {
  url: string
  close(): Promise<void>
}

interface JobResponse {
  status: number
  body?: unknown
  headers?: Record<string, string>
}

export async function startLocalProvider(options: LocalProviderOptions): Promise<LocalProvider> {
  const { log } = options
  const [tool, fonts, programs] = await Promise.all([findFfmpeg(options), findFonts(), findPrograms()])
  if (tool.sandboxProblem !== undefined) {
    const problem = `${tool.sandboxProblem} Media is decoded without a sandbox.`
    log('local.sandbox_unavailable', { problem }, 'warn')
  }
  const directory = await openJobDirectory(options.directory, log)
  const queue = createRenderQueue({
    directory,
    tool,
    renders: options.renders ?? availableParallelism(),
    threads: Math.min(4, availableParallelism()),
    log,
    ...(options.observer && { onEnded: options.observer.renderEnded }),
  })
  options.observer?.renders(queue.counts)
  const records = await directory.load()
  const workDirectory = path.join(options.directory, 'requests')
  await emptyWorkDirectory(workDirectory)
  const models = openModelDirectory(options.modelDirectory)
  const audio = createAudio({ ...options, directory: models, workDirectory }, programs)

  const sweep = () =>
    queue
      .sweep(new Date(Date.now() - retainFinishedMs))
      .catch((error: unknown) => log('local.sweep_failed', { err: error }, 'error'))
  const sweepTimer = setInterval(() => void sweep(), sweepEveryMs)
  sweepTimer.unref()

  /** Uploads in progress, so that a repeated request waits for the first instead of starting a second job. */
  const uploads = new Map<string, Promise<JobResponse>>()
  const refusalCounts = new Map<string, number>()

  async function createJob(id: string, request: IncomingMessage): Promise<JobResponse> {
    const existing = queue.find(id)
    if (existing !== undefined) {
      await drain(request)
      return { status: 200, body: describe(existing) }
    }
    const earlier = uploads.get(id)
    if (earlier !== undefined) {
      await drain(request)
      await earlier.catch(() => {})
      const job = queue.find(id)
      return job === undefined
        ? busy('Another request for this job has just failed. Try again.', 1)
        : { status: 200, body: describe(job) }
    }
    if (queue.waitingCount() > waitingMax) {
      await drain(request)
      return busy('Too many jobs are queued.', busyRetrySeconds)
    }
    const upload = receiveUpload(id, request)
    uploads.set(id, upload)
    try {
      return await upload
    } finally {
      uploads.delete(id)
    }
  }

  async function receiveUpload(id: string, message: IncomingMessage): Promise<JobResponse> {
    const folder = await directory.beginUpload()
    try {
      const { request, files } = await receiveJob(message, folder)
      const refusals = parsePrompt(request.prompt).simulation.refusals ?? 0
      const refused = refusalCounts.get(id) ?? 0
      if (refused < refusals) {
        refusalCounts.set(id, refused + 1)
        return {
          ...problem(429, 'rate_limit_exceeded', 'Simulated rate limit requested by the prompt.'),
          headers: { 'retry-after': '1' },
        }
      }
      refusalCounts.delete(id)
      const createdAt = new Date().toISOString()
      const record: JobRecord = { id, state: 'queued', request, ...files, createdAt }
      await directory.admit(folder, record)
      log('local.accepted', { id, seconds: request.seconds, width: request.width, height: request.height })
      const job = queue.add(record)
      return { status: 201, body: { ...describe(job), state: 'queued', progress: 0 } }
    } catch (error) {
      if (!(error instanceof InvalidJob)) throw error
      await drain(message)
      return problem(400, 'invalid_request', error.message)
    } finally {
      // After a success the folder has been moved, and this does nothing.
      await directory.discardUpload(folder)
    }
  }

  async function sendResult(id: string, response: ServerResponse): Promise<JobResponse | undefined> {
    const job = queue.find(id)
    if (job === undefined) return notFound()
    if (job.record.state !== 'done' || job.record.sizeBytes === undefined) {
      return problem(409, 'job_not_done', `The job is ${job.record.state}.`)
    }
    response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': String(job.record.sizeBytes) })
    await pipeline(createReadStream(directory.resultPath(id)), response)
    return undefined
  }

  async function route(request: IncomingMessage, response: ServerResponse): Promise<JobResponse | undefined> {
    const target = (request.url ?? '/').split('?', 1)[0] ?? '/'
    const hostProblem = target === '/health' ? undefined : options.hostProblem?.(request.headers.host)
    if (hostProblem !== undefined) {
      return { ...problem(421, 'host_not_allowed', hostProblem), headers: { connection: 'close' } }
    }
    const handleAudio = audio.find(target)
    if (handleAudio !== undefined) {
      if (request.method !== 'POST') return methodNotAllowed('POST')
      await handleAudio(request, response)
      return undefined
    }
    const segments = target.split('/').slice(1)
    const [area, encodedId, part, ...rest] = segments
    if (area === 'engines' && segments.length === 1 && request.method === 'GET') {
      return { status: 200, body: await audio.engines() }
    }
    if (area === 'health' && segments.length === 1 && request.method === 'GET') {
      return {
        status: 200,
        body: {
          ok: true,
          ffmpeg: tool.version,
          sandbox: tool.sandbox,
          ...(fonts === undefined ? {} : { fonts }),
        },
      }
    }
    if (
      area !== 'jobs' ||
      encodedId === undefined ||
      rest.length > 0 ||
      (part !== undefined && part !== 'result')
    ) {
      return problem(404, 'not_found', 'This path does not exist.')
    }
    const id = decodeId(encodedId)
    if (id === undefined) return problem(400, 'invalid_request', 'The job id is malformed.')
    if (part === 'result') {
      return request.method === 'GET' ? await sendResult(id, response) : methodNotAllowed('GET')
    }
    switch (request.method) {
      case 'PUT':
        return await createJob(id, request)
      case 'GET': {
        const job = queue.find(id)
        return job === undefined ? notFound() : { status: 200, body: describe(job) }
      }
      case 'DELETE':
        await uploads.get(id)?.catch(() => {})
        await queue.remove(id)
        return { status: 204 }
      default:
        return methodNotAllowed('GET, PUT, DELETE')
    }
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const result = await route(request, response)
      if (result !== undefined) send(response, result)
    } catch (error) {
      if (isDisconnect(request, error)) return
      log('local.request_failed', { method: request.method, err: error }, 'error')
      if (response.headersSent) response.destroy()
      else send(response, problem(500, 'internal_error', 'The local provider failed.'))
    }
  }

  const { observer } = options
  const observe = (request: IncomingMessage, response: ServerResponse) => {
    if (observer === undefined) return
    const startedMs = performance.now()
    const endpoint = endpointOf((request.url ?? '/').split('?', 1)[0] ?? '/')
    response.once('close', () =>
      observer.requestEnded(endpoint, response.statusCode, performance.now() - startedMs),
    )
  }

  const server = createServer((request, response) => {
    observe(request, response)
    void handle(request, response)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, options.host, resolve)
  })
  // Renders start after the port is open, so that a failed start leaves none running.
  for (const record of records) queue.add(record)
  await sweep()
  const { port } = server.address() as AddressInfo
  const url = `http://${options.host.includes(':') ? `[${options.host}]` : options.host}:${port}`
  log('local.listening', { url, ffmpeg: tool.version, sandbox: tool.sandbox })

  return {
    url,
    async close() {
      clearInterval(sweepTimer)
      const closing = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await Promise.all([closing, queue.close(), audio.close()])
    },
  }
}

function isDisconnect(request: IncomingMessage, error: unknown): boolean {
  const isClosed = error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE'
  return isClosed || (request.destroyed && !request.complete)
}

function decodeId(encoded: string): string | undefined {
  try {
    const id = decodeURIComponent(encoded)
    return /^[\x21-\x7e]{1,200}$/u.test(id) ? id : undefined
  } catch {
    return undefined
  }
}

function describe({ record, progress }: LiveJob): Record<string, unknown> {
  return {
    id: record.id,
    state: record.state,
    progress,
    ...(record.state === 'failed' ? { error: record.error } : {}),
    ...(record.state === 'done' ? { sizeBytes: record.sizeBytes } : {}),
  }
}

function problem(status: number, code: string, message: string): JobResponse {
  return { status, body: { error: { code, message } } }
}

function notFound(): JobResponse {
  return problem(404, 'job_not_found', 'This job does not exist.')
}

function busy(message: string, retrySeconds: number): JobResponse {
  return { ...problem(503, 'busy', message), headers: { 'retry-after': String(retrySeconds) } }
}

function methodNotAllowed(allow: string): JobResponse {
  return { ...problem(405, 'method_not_allowed', `This path allows only ${allow}.`), headers: { allow } }
}

function send(response: ServerResponse, { status, body, headers }: JobResponse): void {
  const text = body === undefined ? '' : JSON.stringify(body)
  response.writeHead(status, {
    ...(body === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }),
    'cache-control': 'no-store',
    ...headers,
  })
  response.end(text)
}
