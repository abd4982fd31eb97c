import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'

import { createVendorDialogue, type DialogueRequest, type VendorTurn } from './dialogue.ts'
import { type PromptWords, wordsIn } from './prompt-words.ts'
import { readCreate, readText } from './read-create.ts'
import { createVendorSpeech } from './speech.ts'
import { createVendorTranscription } from './transcription.ts'

export interface VendorOptions {
  /** 0 or absent picks a free one. */
  port?: number
  /** The bearer token to ask for; without it any token will do. */
  apiKey?: string
  durationMs?: number
  honoursIdempotencyKey?: boolean
}

type VendorJobState = 'queued' | 'in_progress' | 'completed' | 'failed' | 'deleted'

/** A job the vendor took, and would charge for. */
interface VendorJob {
  id: string
  idempotencyKey: string | undefined
  clientReference: string | undefined
  model: string
  seconds: string
  size: string
  prompt: string
  /** The job it is a remix of. */
  remixOf: string | undefined
  /** All pictures together. */
  referenceBytes: number
  state: VendorJobState
  /** How often it was submitted: more than once only where the idempotency key is honoured. */
  submits: number
  acceptedAtMs: number
}

/** What goes wrong for every job from now on. The counts run down as they are used up. */
interface VendorFaults {
  /** Cuts every connection without an answer, before anything is read. */
  down: boolean
  busySubmits: number
  failedSubmits: number
  droppedReplies: number
  garbageReplies: number
  unavailableChecks: number
  slowReplyMs: number
  slowCheckMs: number
  retryAfterMs: number
  neverFinishes: boolean
  badMedia: boolean
  /** Ends every job accepted from now on with this code; empty for none. */
  failCode: string
}

/** How often things happened. `accepted` is what the vendor would bill. */
interface VendorCounts {
  submits: number
  accepted: number
  repeated: number
  busy: number
  checks: number
  downloads: number
  deletes: number
  unauthorized: number
}

export interface Vendor {
  url: string
  faults: VendorFaults
  jobs: () => VendorJob[]
  counts: () => VendorCounts
  speeches: ReturnType<typeof createVendorSpeech>['speeches']
  /** Turns of conversations with a model that talks. */
  turns: () => VendorTurn[]
  transcriptions: ReturnType<typeof createVendorTranscription>['transcriptions']
  close: () => Promise<void>
}

interface Job extends Omit<VendorJob, 'state'> {
  durationMs: number
  words: PromptWords
  failCode: string | undefined
  neverFinishes: boolean
  badMedia: boolean
  deleted: boolean
}

const noFaults: VendorFaults = {
  down: false,
  busySubmits: 0,
  failedSubmits: 0,
  droppedReplies: 0,
  garbageReplies: 0,
  unavailableChecks: 0,
  slowReplyMs: 0,
  slowCheckMs: 0,
  retryAfterMs: 100,
  neverFinishes: false,
  badMedia: false,
  failCode: '',
}

/** Starts a vendor of the `/v1/videos` protocol that keeps its jobs in memory and makes up their progress. */
export async function startVendor(options: VendorOptions = {}): Promise<Vendor> {
  const sample = await readFile(new URL('sample.mp4', import.meta.url))
  const jobs = new Map<string, Job>()
  const jobsByKey = new Map<string, Job>()
  const submitsByKey = new Map<string, number>()
  const faults: VendorFaults = { ...noFaults }
  const counts: VendorCounts = {
    submits: 0,
    accepted: 0,
    repeated: 0,
    busy: 0,
    checks: 0,
    downloads: 0,
    deletes: 0,
    unauthorized: 0,
  }

  const speech = createVendorSpeech()
  const dialogue = createVendorDialogue(speech.soundOf)
  const transcription = createVendorTranscription()

  const server = createServer((request, response) => {
    answer(request, response).catch(() => request.socket.destroy())
  })
  // Longer than any client keeps a connection, so that no request meets one that is just closing.
  server.keepAliveTimeout = 60_000

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://vendor')
    if (url.pathname.startsWith('/_vendor/')) return control(url, request, response)
    if (faults.down) {
      request.socket.destroy()
      return
    }
    if (!isAuthorized(request)) {
      counts.unauthorized += 1
      request.resume()
      refuse(response, 401, 'invalid_api_key')
      return
    }
    const [, id, part] = /^\/v1\/videos(?:\/([^/]+)(?:\/(content|remix))?)?$/.exec(url.pathname) ?? [
      undefined,
    ]
    const route = `${request.method} ${id === undefined ? url.pathname : (part ?? 'one')}`
    if (route === 'POST /v1/videos') return create(request, response)
    if (route === 'GET /v1/videos') return list(url, response)
    if (route === 'POST /v1/audio/speech') return speech.answer(request, response)
    if (route === 'POST /v1/audio/transcriptions')
      return transcription.answer('transcribe', request, response)
    if (route === 'POST /v1/audio/translations') return transcription.answer('translate', request, response)
    if (route === 'POST /v1/chat/completions') return chat(request, response)
    const job = jobs.get(id ?? '')
    if (job === undefined || job.deleted) return refuse(response, 404, 'not_found')
    if (route === 'GET one') return check(job, response)
    if (route === 'GET content') return download(job, response)
    if (route === 'POST remix') return create(request, response, job)
    if (route !== 'DELETE one') return refuse(response, 405, 'method_not_allowed')
    counts.deletes += 1
    job.deleted = true
    reply(response, 200, { id: job.id, object: 'video.deleted', deleted: true })
  }

  /** Answers the last message in quotes, as models will; `vendor:chat-fail` in it makes this fail instead. */
  async function chat(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    const asked = JSON.parse(Buffer.concat(chunks).toString()) as DialogueRequest
    const host = request.headers.host ?? ''
    if (asked.model?.startsWith('chat-') === true) return dialogue.answer(asked, host, response)
    const content = asked.messages?.at(-1)?.content
    const said = typeof content === 'string' ? content : ''
    if (said.includes('vendor:chat-fail')) return refuse(response, 500, 'server_error')
    const message = { role: 'assistant', content: `"In English, by the vendor: ${said}"` }
    reply(response, 200, {
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
    })
  }

  function isAuthorized(request: IncomingMessage): boolean {
    const given = request.headers.authorization ?? ''
    return options.apiKey === undefined ? /^Bearer \S/.test(given) : given === `Bearer ${options.apiKey}`
  }

  /** Takes a new job, or with a source a remix, which has its model, length and size from there. */
  async function create(request: IncomingMessage, response: ServerResponse, source?: Job): Promise<void> {
    const asked = await readCreate(request)
    counts.submits += 1
    if (asked === undefined) return refuse(response, 400, 'invalid_body')
    const prompt = asked.fields.get('prompt') ?? ''
    if (prompt === '') return refuse(response, 400, 'missing_required_parameter', 'prompt')

    if (source !== undefined && stateOf(source) !== 'completed') {
      return refuse(response, 400, 'video_not_ready')
    }

    const words = wordsIn(prompt)
    const key = request.headers['idempotency-key']?.toString()
    const submit = (submitsByKey.get(key ?? prompt) ?? 0) + 1
    submitsByKey.set(key ?? prompt, submit)

    if (words.busySubmits >= submit || usedUp('busySubmits')) {
      counts.busy += 1
      response.setHeader('retry-after', '1')
      response.setHeader('retry-after-ms', String(faults.retryAfterMs))
      return refuse(response, 429, 'rate_limit_exceeded')
    }
    if (words.busySubmits + words.failedSubmits >= submit || usedUp('failedSubmits')) {
      return refuse(response, 500, 'server_error')
    }
    if (words.rejectCode !== undefined) return refuse(response, 400, words.rejectCode)

    let job = options.honoursIdempotencyKey === false ? undefined : jobsByKey.get(key ?? '')
    if (job === undefined) {
      job = {
        id: `video_${randomBytes(12).toString('hex')}`,
        idempotencyKey: key,
        clientReference: asked.fields.get('client_reference'),
        model: source?.model ?? asked.fields.get('model') ?? '',
        seconds: source?.seconds ?? asked.fields.get('seconds') ?? '4',
        size: source?.size ?? asked.fields.get('size') ?? '720x1280',
        prompt,
        remixOf: source?.id,
        referenceBytes: asked.referenceBytes,
        submits: 1,
        acceptedAtMs: Date.now(),
        durationMs: words.durationMs ?? options.durationMs ?? 300,
        words,
        failCode: words.failCode ?? (faults.failCode === '' ? undefined : faults.failCode),
        neverFinishes: words.neverFinishes || faults.neverFinishes,
        badMedia: words.badMedia || faults.badMedia,
        deleted: false,
      }
      jobs.set(job.id, job)
      if (key !== undefined) jobsByKey.set(key, job)
      counts.accepted += 1
    } else {
      job.submits += 1
      counts.repeated += 1
    }

    const slowMs = Math.max(words.slowReplyMs, faults.slowReplyMs)
    if (slowMs > 0) await wait(slowMs)
    const turn = submit - words.busySubmits - words.failedSubmits
    if (words.droppedReplies >= turn || usedUp('droppedReplies')) {
      request.socket.destroy()
    } else if (words.garbageReplies >= turn || usedUp('garbageReplies')) {
      response.writeHead(200, { 'content-type': 'application/json' }).end('<html>it went fine</html>')
    } else {
      reply(response, 200, describe(job))
    }
  }

  function list(url: URL, response: ServerResponse): void {
    const wanted = url.searchParams.get('client_reference')
    const data = jobs
      .values()
      .filter((job) => !job.deleted && (wanted === null || job.clientReference === wanted))
      .take(20)
      .map(describe)
      .toArray()
    reply(response, 200, { object: 'list', data })
  }

  async function check(job: Job, response: ServerResponse): Promise<void> {
    counts.checks += 1
    if (faults.slowCheckMs > 0) await wait(faults.slowCheckMs)
    if (job.words.unavailableChecks > 0 || usedUp('unavailableChecks')) {
      job.words.unavailableChecks -= 1
      refuse(response, 503, 'overloaded')
      return
    }
    response.setHeader(
      'openai-poll-after-ms',
      String(Math.min(Math.max(Math.round(job.durationMs / 5), 20), 5000)),
    )
    reply(response, 200, describe(job))
  }

  function download(job: Job, response: ServerResponse): void {
    counts.downloads += 1
    if (stateOf(job) !== 'completed') return refuse(response, 409, 'video_not_ready')
    const media = job.badMedia ? Buffer.from('this is not a video\n'.repeat(50)) : sample
    response.writeHead(200, { 'content-type': 'video/mp4', 'content-length': media.length })
    if (job.words.cutDownloads > 0) {
      job.words.cutDownloads -= 1
      response.write(media.subarray(0, media.length / 2), () => response.socket?.destroy())
      return
    }
    response.end(media)
  }

  /** The same control that a test in this process has, for one that runs the vendor on its own. */
  async function control(url: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const route = `${request.method} ${url.pathname}`
    if (route === 'GET /_vendor/jobs') return reply(response, 200, listJobs())
    if (route === 'GET /_vendor/counts') return reply(response, 200, counts)
    if (route !== 'PUT /_vendor/faults') return refuse(response, 404, 'not_found')
    const wanted: unknown = JSON.parse(await readText(request))
    for (const [name, value] of Object.entries(wanted as object)) {
      const isKnown =
        Object.hasOwn(noFaults, name) && typeof value === typeof noFaults[name as keyof VendorFaults]
      if (!isKnown) return refuse(response, 400, 'unknown_fault', name)
    }
    Object.assign(faults, wanted)
    reply(response, 200, faults)
  }

  function usedUp(
    name: 'busySubmits' | 'failedSubmits' | 'droppedReplies' | 'garbageReplies' | 'unavailableChecks',
  ) {
    if (faults[name] <= 0) return false
    faults[name] -= 1
    return true
  }

  function listJobs(): VendorJob[] {
    return [...jobs.values()].map((job) => ({
      id: job.id,
      idempotencyKey: job.idempotencyKey,
      clientReference: job.clientReference,
      model: job.model,
      seconds: job.seconds,
      size: job.size,
      prompt: job.prompt,
      remixOf: job.remixOf,
      referenceBytes: job.referenceBytes,
      state: stateOf(job),
      submits: job.submits,
      acceptedAtMs: job.acceptedAtMs,
    }))
  }

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port ?? 0, '127.0.0.1', 1024, resolve)
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    faults,
    jobs: listJobs,
    counts: () => ({ ...counts }),
    speeches: speech.speeches,
    turns: dialogue.turns,
    transcriptions: transcription.transcriptions,
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}

/** A tenth of its time a job waits, the rest it works; where it stands follows from the clock alone. */
function doneShare(job: Job): number {
  const share = job.durationMs === 0 ? 1 : (Date.now() - job.acceptedAtMs) / job.durationMs
  return Math.min(share, job.neverFinishes ? 0.5 : 1)
}

function stateOf(job: Job): VendorJobState {
  const share = doneShare(job)
  if (job.deleted) return 'deleted'
  if (share < 0.1) return 'queued'
  if (share < 1) return 'in_progress'
  return job.failCode === undefined ? 'completed' : 'failed'
}

function describe(job: Job): Record<string, unknown> {
  const state = stateOf(job)
  return {
    id: job.id,
    object: 'video',
    model: job.model,
    status: state,
    progress: state === 'queued' ? 0 : Math.floor(doneShare(job) * 100),
    created_at: Math.floor(job.acceptedAtMs / 1000),
    seconds: job.seconds,
    size: job.size,
    client_reference: job.clientReference ?? null,
    remixed_from_video_id: job.remixOf ?? null,
    error:
      state === 'failed' ? { code: job.failCode, message: 'The simulated vendor was asked to fail.' } : null,
  }
}

function refuse(response: ServerResponse, status: number, code: string, param: string | null = null): void {
  const message = 'The simulated vendor refuses.'
  reply(response, status, { error: { code, param, type: 'invalid_request_error', message } })
}

function reply(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body)
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
  })
  response.end(text)
}
