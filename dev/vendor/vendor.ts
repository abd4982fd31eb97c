import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

import { answerJson, hasBearer, refuseJson } from './answer-json.ts'
import { noFaults, type VendorCounts, type VendorFaults } from './control.ts'
import { createVendorDialogue, type DialogueRequest, type VendorTurn } from './dialogue.ts'
import { createGeminiSpeech, isGeminiSpeech } from './gemini-speech.ts'
import { createJobStore } from './job-store.ts'
import type { VendorJob } from './job.ts'
import { protocols } from './protocols.ts'
import { readText } from './read-create.ts'
import { createVendorSpeech } from './speech.ts'
import { createVendorTranscription } from './transcription.ts'
import { watchStalls } from './watch-stalls.ts'

export interface VendorOptions {
  /** The address that it listens on; by default that of this machine alone. */
  host?: string
  /** 0 or absent uses a free port. */
  port?: number
  /** The required token; any is accepted without it. */
  apiKey?: string
  durationMs?: number
  honoursIdempotencyKey?: boolean
  /** Whether each job has a video of its own; by default all have the same. */
  hasDistinctVideos?: boolean
  /** The directory of the files that prompts name with `vendor:video=`. */
  videoDirectory?: string | undefined
}

export interface Vendor {
  url: string
  faults: VendorFaults
  /** The provider kinds of its protocols. */
  kinds: string[]
  jobs: () => VendorJob[]
  /** The prompts with a fault that has never happened, because the vendor was not asked at its point. */
  unusedFaults: () => string[]
  /** Ends all jobs that never finish, one after the other over this time. */
  release: (overMs: number) => void
  counts: () => VendorCounts
  speeches: ReturnType<typeof createVendorSpeech>['speeches']
  /** Conversation turns of chat with audio. */
  turns: () => VendorTurn[]
  transcriptions: ReturnType<typeof createVendorTranscription>['transcriptions']
  close: () => Promise<void>
}

/** Starts a vendor with every protocol of protocols.ts. Jobs are in memory, and their progress is simulated. */
export async function startVendor(options: VendorOptions = {}): Promise<Vendor> {
  const host = options.host ?? '127.0.0.1'
  const url = () => `http://${host}:${(server.address() as AddressInfo).port}`
  const store = createJobStore({
    url,
    apiKey: options.apiKey,
    durationMs: options.durationMs ?? 300,
    honoursIdempotencyKey: options.honoursIdempotencyKey ?? true,
    sample: await readFile(new URL('sample.mp4', import.meta.url)),
    hasDistinctVideos: options.hasDistinctVideos ?? false,
    videoDirectory: options.videoDirectory,
  })
  const { faults, counts } = store
  const speech = createVendorSpeech()
  const geminiSpeech = createGeminiSpeech(speech, options.apiKey)
  const dialogue = createVendorDialogue(speech.soundOf)
  const transcription = createVendorTranscription()
  const watch = watchStalls()
  const served = protocols.map((createProtocol) => createProtocol(store))

  const server = createServer((request, response) => {
    answer(request, response).catch(() => request.socket.destroy())
  })
  // Longer than clients reuse connections, so that no request meets a closing one; as long as large load balancers do.
  server.keepAliveTimeout = 600_000

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = new URL(request.url ?? '/', 'http://vendor')
    if (asked.pathname.startsWith('/_vendor/')) return control(asked, request, response)
    if (faults.down) {
      counts.cut += 1
      if (request.method === 'POST') counts.cutSubmits += 1
      request.socket.destroy()
      return
    }
    counts.underWay += 1
    response.once('close', () => (counts.underWay -= 1))
    const protocol = served.find(({ accepts }) => accepts(request.method ?? '', asked))
    await (protocol === undefined
      ? answerOther(request, response, asked)
      : protocol.answer(request, response, asked))
    if (response.statusCode === 401) counts.unauthorized += 1
  }

  /** Text and audio, which have no jobs. */
  async function answerOther(request: IncomingMessage, response: ServerResponse, asked: URL): Promise<void> {
    if (isGeminiSpeech(asked)) return geminiSpeech.answer(request, response, asked)
    if (!hasBearer(request.headers.authorization, options.apiKey)) {
      request.resume()
      return refuseJson(response, 401, 'invalid_api_key')
    }
    const route = `${request.method} ${asked.pathname}`
    if (route === 'GET /v1/models') return answerJson(response, 200, { object: 'list', data: [] })
    if (route === 'POST /v1/audio/speech') return speech.answer(request, response)
    if (route === 'POST /v1/audio/transcriptions')
      return transcription.answer('transcribe', request, response)
    if (route === 'POST /v1/audio/translations') return transcription.answer('translate', request, response)
    if (route === 'POST /v1/chat/completions') return chat(request, response)
    refuseJson(response, 404, 'not_found')
  }

  /** Returns the last message in quotes; `vendor:chat-fail` in it makes the call fail. */
  async function chat(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const asked = JSON.parse(await readText(request)) as DialogueRequest
    const host = request.headers.host ?? ''
    if (asked.model?.startsWith('chat-') === true) return dialogue.answer(asked, host, response)
    const content = asked.messages?.at(-1)?.content
    const said = typeof content === 'string' ? content : ''
    if (said.includes('vendor:chat-fail')) return refuseJson(response, 500, 'server_error')
    const message = { role: 'assistant', content: `"In English, by the vendor: ${said}"` }
    answerJson(response, 200, {
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
    })
  }

  /** The control API for a vendor that runs as its own process. */
  async function control(asked: URL, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const route = `${request.method} ${asked.pathname}`
    if (route === 'GET /_vendor/jobs') return answerJson(response, 200, store.jobs())
    if (route === 'GET /_vendor/counts') return answerJson(response, 200, counts)
    if (route === 'GET /_vendor/stalls') return answerJson(response, 200, watch.stalls)
    if (route === 'PUT /_vendor/closed') {
      const { forMs } = JSON.parse(await readText(request)) as { forMs: number }
      response.once('finish', () => closeFor(forMs))
      return answerJson(response, 200, {})
    }
    if (route !== 'PUT /_vendor/faults') return refuseJson(response, 404, 'not_found')
    const wanted: unknown = JSON.parse(await readText(request))
    for (const [name, value] of Object.entries(wanted as object)) {
      const isKnown =
        Object.hasOwn(noFaults, name) && typeof value === typeof noFaults[name as keyof VendorFaults]
      if (!isKnown) return refuseJson(response, 400, 'unknown_fault', name)
    }
    Object.assign(faults, wanted)
    answerJson(response, 200, faults)
  }

  const listen = (port: number) =>
    new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, host, 1024, resolve)
    })

  /** Refuses connections for a while, so that clients know that their request was not received. */
  function closeFor(forMs: number): void {
    const { port } = server.address() as AddressInfo
    server.close()
    server.closeAllConnections()
    setTimeout(() => void listen(port), forMs)
  }

  await listen(options.port ?? 0)
  return {
    url: url(),
    faults,
    kinds: served.map(({ kind }) => kind),
    jobs: store.jobs,
    unusedFaults: store.unusedFaults,
    release: store.release,
    counts: () => ({ ...counts }),
    speeches: speech.speeches,
    turns: dialogue.turns,
    transcriptions: transcription.transcriptions,
    close: async () => {
      watch.stop()
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
    },
  }
}
