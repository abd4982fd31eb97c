/**
 * Server-sent events, written straight to the connection: a stream that mostly waits should cost little more
 * than its socket. A client that reads slowly is waited for, and silence is broken now and then so that nothing on
 * the way takes the connection for dead. The server closes the connection of a client that has stopped reading.
 */
import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'

import type { Log } from '../platform/log.ts'

export interface SentEvent {
  id?: number
  /** The event's name; a stream whose client knows only one kind has none. */
  event?: string
  /** One line. An event without it only sets the time after which a client comes back. */
  data?: string
  retryMs?: number
}

/** What a handler answers to have events sent: each is sent when the one before it has left. */
export type EventStream = AsyncGenerator<SentEvent, void, undefined>

export const isEventStream = (body: unknown): body is EventStream =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body && !(body instanceof Readable)

const silenceMsMax = 12_000

const headersOfStreams = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  // A stream is the last thing on its connection: a close has nobody to wait for once it has ended.
  connection: 'close',
}

const textOf = ({ id, event, data, retryMs }: SentEvent): string =>
  (id === undefined ? '' : `id: ${id}\n`) +
  (event === undefined ? '' : `event: ${event}\n`) +
  (retryMs === undefined ? '' : `retry: ${retryMs}\n`) +
  (data === undefined ? '' : `data: ${data}\n`) +
  '\n'

/** Resolves once the connection takes more, or is gone. */
const taken = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const onEither = () => {
      response.off('drain', onEither).off('close', onEither)
      resolve()
    }
    response.on('drain', onEither).on('close', onEither)
  })

const pump = async (response: ServerResponse, events: EventStream): Promise<void> => {
  const silence = setTimeout(() => {
    // What has not left yet is no silence.
    if (!response.destroyed && !response.writableNeedDrain) response.write(': ping\n\n')
    silence.refresh()
  }, silenceMsMax)
  try {
    for await (const event of events) {
      // Leaving the loop tells the stream's maker that nobody listens any more.
      if (response.destroyed) return
      silence.refresh()
      if (!response.write(textOf(event))) await taken(response)
    }
    if (!response.destroyed) response.end()
  } finally {
    clearTimeout(silence)
  }
}

/** Sends the events as the answer; it goes on by itself and holds nothing of the request. */
export const sendEvents = (
  response: ServerResponse,
  headers: Record<string, OutgoingHttpHeader | undefined>,
  events: EventStream,
  log: Log,
): void => {
  const sendAll = async () => {
    try {
      if (response.destroyed) return
      response.writeHead(200, { ...(headers as OutgoingHttpHeaders), ...headersOfStreams })
      response.flushHeaders()
      if (response.req.method === 'HEAD') response.end()
      else await pump(response, events)
    } finally {
      // However it came to this, and even if nothing was ever read, the stream's maker is told that it is over.
      await events.return()
    }
  }
  sendAll().catch((error: unknown) => {
    log.error({ err: error }, 'stream.failed')
    // Cut rather than ended: a stream that stops short must not look like one that was told to the end.
    response.destroy()
  })
}
