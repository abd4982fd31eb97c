import { createHash } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { setTimeout as wait } from 'node:timers/promises'

import { Busboy } from '@fastify/busboy'

/** A requested transcription and its progress. */
interface VendorTranscription {
  task: 'transcribe' | 'translate'
  fields: Record<string, string[]>
  filename: string
  contentType: string
  sizeBytes: number
  sha256: string
  state: 'under way' | 'refused' | 'finished' | 'cut' | 'abandoned'
}

interface VendorSegment {
  start: number
  end: number
  text: string
}

const secondsEach = 1.5

/** Figures that must not be passed on unchanged. */
const oddSegments: VendorSegment[] = [
  { start: -0.4, end: 1.0005, text: ' before the start' },
  { start: 0.5, end: 1.2, text: ' over the one before --> with <b>marks</b> & more' },
  { start: 1.2, end: 1.2, text: ' no time\n\nat all' },
  { start: 1.3, end: 0.2, text: ' backwards' },
  { start: 1.4, end: 9_000_000, text: ' past the end' },
  { start: 9_000_000, end: 9_000_001, text: ' long after it' },
]

/**
 * The vendor's `/v1/audio/transcriptions` and `/v1/audio/translations`: the transcript is derived from the bytes.
 * Directives in the prompt inject faults.
 */
export function createVendorTranscription() {
  const transcriptions: VendorTranscription[] = []

  async function answer(
    task: VendorTranscription['task'],
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const asked = await read(task, request)
    const isFirst = !transcriptions.some(({ sha256 }) => sha256 === asked.sha256)
    transcriptions.push(asked)
    response.on('close', () => {
      if (asked.state === 'under way') asked.state = 'abandoned'
    })
    const field = (name: string) => asked.fields[name]?.[0]
    const words = new Map(
      [...(field('prompt') ?? '').matchAll(/\bvendor:([a-z0-9-]+)(?:=([\w.-]+))?/g)].map(
        ([, word = '', value]) => [word, value],
      ),
    )
    const refuse = (status: number, code: string, message = 'The simulated vendor refuses.') => {
      asked.state = 'refused'
      const text = JSON.stringify({ error: { code, message, type: 'invalid_request_error', param: null } })
      response.writeHead(status, { 'content-type': 'application/json', 'retry-after': '7' }).end(text)
    }
    const cut = () => {
      asked.state = 'cut'
      response.socket?.destroy()
    }
    if (words.has('500')) return refuse(500, 'server_error')
    if (words.has('busy')) return refuse(429, 'rate_limit_exceeded')
    // Only the first request with a recording fails.
    if (words.has('500-once') && isFirst) return refuse(500, 'server_error')
    if (words.has('busy-once') && isFirst) return refuse(429, 'rate_limit_exceeded')
    if (words.has('moderated')) return refuse(400, 'content_policy_violation')
    if (words.has('reject')) return refuse(400, words.get('reject') ?? 'invalid_value')
    if (words.has('leak')) {
      return refuse(400, 'invalid_value', `${request.headers.host} refused ${request.headers.authorization}`)
    }
    if (words.has('hang')) return
    if (words.has('cut')) return cut()
    if (words.has('slow')) await wait(Number(words.get('slow')))

    const text = `vendor ${task === 'translate' ? 'translation' : 'transcript'} of ${asked.sizeBytes} bytes`
    if (words.has('garbage')) {
      asked.state = 'finished'
      response.writeHead(200, { 'content-type': 'application/json' }).end('<html>it went fine</html>')
      return
    }
    if (field('stream') === 'true' && !words.has('no-stream')) return stream(text)

    const segments = words.has('odd-times') ? oddSegments : segmentsOf(text)
    const verbose = {
      task,
      language: words.get('language') ?? 'en',
      duration: segments.length * secondsEach,
      ...(!words.has('no-segments') && { segments: segments.map(described) }),
      ...(asked.fields['timestamp_granularities[]']?.includes('word') === true && {
        words: segments.flatMap(wordsOf),
      }),
    }
    const isVerbose = field('response_format') === 'verbose_json'
    asked.state = 'finished'
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(JSON.stringify(words.has('no-text') ? {} : { text, ...(isVerbose && verbose) }))

    async function stream(transcript: string): Promise<void> {
      const send = (event: unknown) => response.write(`data: ${JSON.stringify(event)}\n\n`)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const [index, delta] of (transcript.match(/\S+\s*/g) ?? []).entries()) {
        if (index === 2 && words.has('die')) return cut()
        if (index === 2 && words.has('stall')) return
        if (index === 2 && words.has('complain')) {
          asked.state = 'refused'
          send({ error: { code: 'server_error', message: 'The simulated vendor gives up.' } })
          response.end()
          return
        }
        send({ type: 'transcript.text.delta', delta })
        await wait(5)
        if (response.destroyed) return
      }
      asked.state = 'finished'
      send({ type: 'transcript.text.done', text: transcript })
      response.end('data: [DONE]\n\n')
    }
  }

  return { answer, transcriptions: () => transcriptions.map((each) => ({ ...each })) }
}

/** Reads a form; only the size of the recording is used. */
async function read(
  task: VendorTranscription['task'],
  request: IncomingMessage,
): Promise<VendorTranscription> {
  const asked: VendorTranscription = {
    task,
    fields: {},
    filename: '',
    contentType: '',
    sizeBytes: 0,
    sha256: '',
    state: 'under way',
  }
  const hash = createHash('sha256')
  const parser = new Busboy({ headers: request.headers as { 'content-type': string } })
  parser.on('field', (name, value) => {
    asked.fields[name] = [...(asked.fields[name] ?? []), value]
  })
  parser.on('file', (_name, stream, filename, _encoding, contentType) => {
    asked.filename = filename
    asked.contentType = contentType
    stream.on('data', (chunk: Buffer) => {
      asked.sizeBytes += chunk.length
      hash.update(chunk)
    })
  })
  await pipeline(request, parser)
  asked.sha256 = hash.digest('hex')
  return asked
}

/** Two words at a time. */
function segmentsOf(text: string): VendorSegment[] {
  return (text.match(/\S+(\s+\S+)?/g) ?? []).map((part, index) => ({
    start: index * secondsEach,
    end: (index + 1) * secondsEach,
    text: ` ${part}`,
  }))
}

function described({ start, end, text }: VendorSegment, id: number) {
  return {
    ...{ id, seek: id * 150, start, end, text, tokens: [50_364, 1000 + id], temperature: 0 },
    ...{ avg_logprob: -0.25, compression_ratio: 1.125, no_speech_prob: 0.0625 },
  }
}

function wordsOf({ start, end, text }: VendorSegment) {
  const words = text.trim().split(/\s+/)
  const seconds = (end - start) / words.length
  return words.map((word, index) => ({
    word,
    start: start + index * seconds,
    end: start + (index + 1) * seconds,
  }))
}
