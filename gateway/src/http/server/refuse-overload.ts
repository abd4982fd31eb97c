/**
 * Refuses creates that an overloaded process cannot take, before the router and its hooks. This costs a tenth of the CPU
 * time of a refusal by a hook. It matters, because every await of an accepted create takes a turn of the event loop, and
 * a turn takes as long as all the refusals in it.
 *
 * It decides only the plain cases: a path without parameters and a key that was used lately. A hook decides the others in
 * the same way.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'

import type { ApiError } from '@kinora/contract/errors'
import type { Operation } from '@kinora/contract/operation'

import type { Authenticate } from '../../auth/authenticate.ts'
import { openAiBase } from '../openai-base.ts'

export interface OverloadRefusals {
  /** Whether any create may be refused now; asked for every create, so it must be cheap. */
  isOverloaded: () => boolean
  refusalOf: (accountId: string) => ApiError | undefined
  likelyAccount: Authenticate['likelyAccount']
  /** Writes the response, and bounds how long the rest of the body is received. */
  write: (request: IncomingMessage, response: ServerResponse, error: ApiError) => void
  onRefused: (operation: string, error: ApiError) => void
}

/** One in so many is left to the hook, which writes a row to the request log. */
const recordedEvery = 32

export const refuseOverload = (
  operations: Operation[],
  { isOverloaded, refusalOf, likelyAccount, write, onRefused }: OverloadRefusals,
): ((handle: RequestListener) => RequestListener) => {
  const creates = new Map(
    operations
      .filter(
        ({ method, path, creates: isCreate }) =>
          method === 'POST' && isCreate === true && !path.includes('{'),
      )
      .flatMap(({ id, path }) => [path, `${openAiBase}${path}`].map((url): [string, string] => [url, id])),
  )
  let refused = 0
  return (handle) => (request, response) => {
    const operation = request.method === 'POST' ? creates.get(request.url ?? '') : undefined
    const { authorization, 'x-api-key': apiKey } = request.headers
    const accountId =
      operation !== undefined && isOverloaded()
        ? likelyAccount({ authorization, apiKey: apiKey?.toString(), address: '' })
        : undefined
    const refusal = accountId === undefined ? undefined : refusalOf(accountId)
    if (operation === undefined || refusal === undefined) {
      handle(request, response)
      return
    }
    refused += 1
    if (refused % recordedEvery === 0) {
      handle(request, response)
      return
    }
    write(request, response, refusal)
    onRefused(operation, refusal)
  }
}
