import { Readable } from 'node:stream'

import type { Operation } from '@kinora/contract/operation'
import type { FastifyReply } from 'fastify'

import type { Log } from '../../platform/log.ts'
import type { Reply } from '../call.ts'
import { isEventStream, sendEvents } from '../sse.ts'

const ignoreError = () => undefined

/** A header value may hold only plain characters; others are replaced by question marks. */
const headerText = (names: string[]) =>
  names.map((name) => name.replace(/[^\x21-\x7e]/g, '?').slice(0, 64)).join(', ')

/** Adds the header that names the parameters which had no effect. */
export const withIgnoredParams = (
  { headers, ...reply }: Reply<unknown>,
  ignored: ReadonlySet<string>,
): Reply<unknown> => ({
  ...reply,
  headers: {
    ...headers,
    ...(ignored.size > 0 && { 'x-ignored-params': headerText([...ignored].slice(0, 20)) }),
  },
})

/** Ends a response body that will not be sent. It has no effect on a body that was read to its end. */
export const discardReply = ({ body }: Reply<unknown>, log: Log): void => {
  if (body instanceof Readable) body.destroy()
  else if (isEventStream(body)) {
    body.return().catch((error: unknown) => log.error({ err: error }, 'stream.failed'))
  }
}

export const sendReply = (
  reply: FastifyReply,
  operation: Operation,
  { status = 200, headers = {}, body }: Reply<unknown>,
  log: Log,
) => {
  void reply.status(status).headers(headers)
  if (isEventStream(body)) {
    sendEvents(reply.hijack().raw, reply.getHeaders(), body, log)
    return reply
  }
  if (body instanceof Readable) {
    // Fastify listens for errors once it sends; an error before that would end the process.
    body.on('error', ignoreError)
    return reply.send(body)
  }
  if (body === undefined) return reply.send(body)
  const json = 'application/json; charset=utf-8'
  return typeof body === 'string' || Buffer.isBuffer(body)
    ? reply.type(headers['content-type'] ?? operation.answer.contentType ?? json).send(body)
    : reply.type(headers['content-type'] ?? json).send(JSON.stringify(body))
}
