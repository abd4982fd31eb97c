import { ApiError } from '@kinora/contract/errors'
import type { Operation } from '@kinora/contract/operation'

import type { Caller } from './caller.ts'

const listOf = (scopes: readonly string[]) => scopes.map((scope) => `\`${scope}\``).join(', ')

/** Refuses a key without any of the scopes that allow an operation. */
export const assertScope = ({ scopes }: Pick<Caller, 'scopes'>, operation: Operation): void => {
  if (operation.access !== 'key' || operation.scopes.some((each) => scopes.includes(each))) return
  const needed =
    operation.scopes.length === 1
      ? `the scope ${listOf(operation.scopes)}`
      : `one of the scopes ${listOf(operation.scopes)}`
  throw new ApiError('insufficient_scope', {
    message: `${operation.method} ${operation.path} needs a key with ${needed}. This key has ${listOf(scopes)}.`,
  })
}
