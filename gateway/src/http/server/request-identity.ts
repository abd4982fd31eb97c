import { ApiError } from '@kinora/contract/errors'
import { idempotencyKeyCharactersMax, type Operation } from '@kinora/contract/operation'
import type { FastifyRequest } from 'fastify'

import type { Attempt } from '../../idempotency/run-once.ts'

/** How a repeated request is recognised: by its idempotency key, or as a retry of a client library. */
export type RequestIdentity = Pick<Attempt, 'key' | 'retry'>

/**
 * The identity of a request; undefined if repetitions of it are not recognised. A client library that marks its retries
 * needs no key, because an equal body is enough then; but without a key no stream is stored for a replay.
 */
export const identityOf = (
  { creates, answer }: Operation,
  { headers }: FastifyRequest,
): RequestIdentity | undefined => {
  if (creates !== true) return undefined
  const key = headers['idempotency-key']
  if (key !== undefined) {
    const isText = typeof key === 'string' && /^[\x20-\x7e]+$/.test(key)
    if (isText && key.length <= idempotencyKeyCharactersMax) return { key, retry: 0 }
    throw new ApiError('invalid_parameter', {
      param: 'Idempotency-Key',
      message: `'Idempotency-Key' must be 1 to ${idempotencyKeyCharactersMax} printable characters.`,
    })
  }
  if (answer.schema === undefined || !Object.keys(headers).some((name) => name.startsWith('x-stainless-'))) {
    return undefined
  }
  const retries = String(headers['x-stainless-retry-count'] ?? '')
  return { key, retry: /^\d{1,4}$/.test(retries) ? Number(retries) : 0 }
}
