/** Server-sent events: read as they arrive, and resumed after a lost connection. */
import { KinoraError, readErrorBody } from './kinora-error.ts'
import type { Send, SentRequest } from './transport.ts'
import { backoffMs, wait } from './wait.ts'

export interface ServerEvent {
  id?: string
  event?: string
  data?: string
  /** How long to wait before the stream is opened again. */
  retryMs?: number
}

/** The service sends something every 15 seconds, so a connection that is silent for longer is dead. */
const silenceMsMax = 40_000

/** Longer events are not collected in memory. Audio of a chat is the largest. */
const eventCharactersMax = 100_000_000
const retryMsMax = 60_000

const readEvent = (lines: string[]): ServerEvent => {
  const event: ServerEvent = {}
  for (const line of lines) {
    // Text may have line separators of Unicode, which do not end a line here.
    const [, name, value = ''] = /^(\w+): ?(.*)$/s.exec(line) ?? []
    if (name === 'data') event.data = event.data === undefined ? value : `${event.data}\n${value}`
    if (name === 'id' || name === 'event') event[name] = value
    if (name === 'retry' && /^\d+$/.test(value)) event.retryMs = Math.min(Number(value), retryMsMax)
  }
  return event
}

/** Divides text into the lines of events. What has no end yet is not searched again when more arrives. */
const createLineReader = () => {
  let lines: string[] = []
  let line = ''
  let characters = 0
  return function* (text: string): Generator<string[]> {
    const [first = '', ...others] = text.split('\n')
    line += first
    characters += first.length
    for (const next of others) {
      const ended = line.endsWith('\r') ? line.slice(0, -1) : line
      if (ended !== '') lines.push(ended)
      else if (lines.length > 0) {
        yield lines
        lines = []
        characters = 0
      }
      line = next
      characters += next.length
    }
    if (characters > eventCharactersMax)
      throw new KinoraError('invalid_response', 'An event of the stream is too large.')
  }
}

/** The events of a body. A comment, which keeps the connection alive, is an event without anything. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  silenceMs: number = silenceMsMax,
): AsyncGenerator<ServerEvent> {
  const reader = body.getReader()
  const decoder = new TextDecoder()
  const readLines = createLineReader()
  let isSilent = false
  const onSilence = () => {
    isSilent = true
    void reader.cancel().catch(() => undefined)
  }
  let timer = setTimeout(onSilence, silenceMs)
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (isSilent) throw new KinoraError('timeout', `The stream was silent for ${silenceMs} ms.`)
      if (done) return
      clearTimeout(timer)
      for (const lines of readLines(decoder.decode(value, { stream: true }))) yield readEvent(lines)
      timer = setTimeout(onSilence, silenceMsMax)
    }
  } catch (error) {
    if (error instanceof KinoraError) throw error
    throw new KinoraError('connection_failed', 'The stream was interrupted.', {}, { cause: error })
  } finally {
    clearTimeout(timer)
    await reader.cancel().catch(() => undefined)
  }
}

/** The body of a response that is a stream of events; undefined if no event follows. */
export const readEventBody = (response: Response): ReadableStream<Uint8Array> | undefined => {
  if (response.status === 204) return undefined
  const type = response.headers.get('content-type') ?? ''
  if (response.body === null || !type.startsWith('text/event-stream'))
    throw new KinoraError('invalid_response', `Expected a stream of events (got '${type}').`)
  return response.body
}

/** Whether a stream that ended this way can be opened again. */
export const isInterruption = (error: unknown): error is KinoraError =>
  error instanceof KinoraError &&
  (error.status === undefined || error.status === 429 || error.status >= 500) &&
  error.code !== 'not_supported'

/** Events, as an iterator. The connection is opened by the first step and closed when the loop is left. */
export interface EventStream<Data> extends AsyncIterable<Data> {
  /** Id of the last event that was read: the cursor to continue after. */
  readonly lastEventId: string | undefined
}

interface StreamSource {
  send: Send
  request: SentRequest
  /** Whether the stream is complete after this event. Undefined for a stream that cannot be resumed. */
  isLast?: (event: ServerEvent) => boolean
}

const failuresMax = 20

export const createEventStream = <Data>({ send, request, isLast }: StreamSource): EventStream<Data> => {
  let lastEventId: string | undefined
  let isComplete = false
  const { signal } = request.options

  async function* readOnce(): AsyncGenerator<ServerEvent> {
    const resume = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
    const headers = { accept: 'text/event-stream', ...request.headers, ...resume }
    const body = await send({ ...request, headers, isStreamed: true }, readEventBody)
    if (body === undefined) {
      isComplete = true
      return
    }
    for await (const event of readEvents(body)) {
      if (event.event === 'error') throw readErrorBody(event.data ?? '', { status: 403 })
      yield event
      if (event.id !== undefined) lastEventId = event.id
    }
  }

  async function* read(): AsyncGenerator<Data> {
    let failures = 0
    let retryMs: number | undefined
    for (;;) {
      let events = 0
      try {
        for await (const event of readOnce()) {
          events += 1
          retryMs = event.retryMs ?? retryMs
          if (event.data === undefined || event.data === '[DONE]') continue
          const data = JSON.parse(event.data) as Data & { error?: unknown }
          // A stream that fails after it began ends with the error object.
          if (isLast === undefined && typeof data.error === 'object' && data.error !== null)
            throw readErrorBody(event.data, { status: 200 })
          if (event.id !== undefined) lastEventId = event.id
          yield data as Awaited<Data>
          if (isLast?.(event) === true) return
        }
        if (isLast === undefined || isComplete) return
        failures = events > 0 ? 0 : failures + 1
      } catch (error) {
        signal?.throwIfAborted()
        if (isLast === undefined || !isInterruption(error) || error.code === 'invalid_response') throw error
        failures = events > 0 ? 0 : failures + 1
        if (failures > failuresMax) throw error
      }
      await wait(retryMs ?? backoffMs(failures), signal)
    }
  }

  return {
    get lastEventId() {
      return lastEventId
    },
    [Symbol.asyncIterator]: read,
  }
}
