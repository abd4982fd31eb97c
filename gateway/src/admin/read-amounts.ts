import { ApiError } from '@kinora/contract/errors'
import type { Static, TObject } from 'typebox'

import type { Call } from '../http/call.ts'

const assertCurrency = (value: unknown, currency: string, path: string): void => {
  if (typeof value !== 'object' || value === null) return
  for (const [name, member] of Object.entries(value)) {
    const param = Array.isArray(value) ? `${path}[${name}]` : `${path === '' ? '' : `${path}.`}${name}`
    if (name === 'currency' && member !== currency) {
      throw new ApiError('invalid_parameter', {
        param,
        message: `'${param}' must be ${currency}, the currency of this instance (got '${member}').`,
      })
    }
    assertCurrency(member, currency, param)
  }
}

/** Reads a body with amounts, and rejects amounts in another currency. */
export const readAmounts = <Schema extends TObject>(
  call: Pick<Call, 'read'>,
  schema: Schema,
  currency: string,
): Static<Schema> => {
  const given = call.read(schema)
  assertCurrency(given, currency, '')
  return given
}
