/**
 * Server-sent events, written directly to the connection, so that an idle stream costs little more than its socket.
 * Writing waits for slow readers, and comments keep proxies from closing an idle connection. The server closes the
 * connection of a client that has stopped reading.
 */
import type { OutgoingHttpHeader, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'

import type { Log } from '../platform/log.ts'
import { createStreamComments, type StreamComments } from './stream-comments.ts'

export interface SentEvent {
  id?: number | string
  /** The event's name; absent in streams with only one kind of event. */
  event?: string
  /** One line. An event without data only sets the reconnection time. */
  data?: string
  retryMs?: number
}

/** The response body of a handler that sends events. The next event is pulled when the last one was written. */
export type EventStream = AsyncGenerator<SentEvent, void, undefined>

export const isEventStream = (body: unknown): body is EventStream =>
  typeof body === 'object' && body !== null && Symbol.asyncIterator in body && !(body instanceof Readable)

const headersOfStreams = {
  'content-type': 'text/event-stream; charset=utf-8',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  // The connection closes with the stream, so a shutdown does not have to wait for it.
  connection: 'close',
}

const textOf = ({ id, event, data, retryMs }: SentEvent): string =>
  (id === undefined ? '' : `id: ${id}\n`) +
  (event === undefined ? '' : `event: ${event}\n`) +
  (retryMs === undefined ? '' : `retry: ${retryMs}\n`) +
  (data === undefined ? '' : `data: ${data}\n`) +
  '\n'

/** Resolves when the connection accepts more data or is closed. */
const drained = (response: ServerResponse): Promise<void> =>
  new Promise((resolve) => {
    const onEither = () => {
      response.off('drain', onEither).off('close', onEither)
      resolve()
    }
    response.on('drain', onEither).on('close', onEither)
  })

/** Of all streams of the process. */
const commentsOfProcess = createStreamComments()

const pump = async (
  response: ServerResponse,
  events: EventStream,
  { add }: StreamComments,
): Promise<void> => {
  const comments = add(response)
  try {
    for await (const event of events) {
      // Leaving the loop ends the generator.
      if (response.destroyed) return
      comments.noteWrite()
      if (!response.write(textOf(event))) await drained(response)
    }
    if (!response.destroyed) response.end()
  } finally {
    comments.stop()
  }
}

/** Sends the events as the response. It runs in the background and holds no reference to the request. */
export const sendEvents = (
  response: ServerResponse,
  headers: Record<string, OutgoingHttpHeader | undefined>,
  events: EventStream,
  log: Log,
  comments = commentsOfProcess,
): void => {
  const sendAll = async () => {
    try {
      if (response.destroyed) return
      response.writeHead(200, { ...(headers as OutgoingHttpHeaders), ...headersOfStreams })
      response.flushHeaders()
      if (response.req.method === 'HEAD') response.end()
      else await pump(response, events, comments)
    } finally {
      // Ends the generator in every case, also if nothing was ever read from it.
      await events.return()
    }
  }
  sendAll().catch((error: unknown) => {
    log.error({ err: error }, 'stream.failed')
    // Destroyed and not ended, because a broken stream must not look complete.
    response.destroy()
  })
}
