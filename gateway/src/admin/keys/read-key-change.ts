import { ApiError } from '@kinora/contract/errors'
import { keyScopes } from '@kinora/contract/key-scope'
import type { KeyChange } from '@kinora/contract/operations/admin/keys'
import type { OperatorRole } from '@kinora/contract/operator-key'
import type { Static } from 'typebox'

import { isAddressRange } from '../../auth/caller.ts'
import type { Period } from '../../billing/money/period.ts'
import type { Catalog } from '../../models/catalog.ts'
import { timeOfSeconds } from '../unix-time.ts'
import type { KeyBudget, KeyRecord, KeySettings } from './key-record-store.ts'

type GivenKey = Static<typeof KeyChange>

const refuse = (param: string, message: string) => new ApiError('invalid_parameter', { param, message })

const assertModels = (models: string[], catalog: Catalog) => {
  for (const [index, model] of models.entries()) {
    if (catalog.idOf(model) === undefined)
      throw refuse(`models[${index}]`, `There is no model '${model.slice(0, 100)}'.`)
  }
}

const assertAddresses = (addresses: string[]) => {
  for (const [index, address] of addresses.entries()) {
    if (!isAddressRange(address)) {
      throw refuse(
        `addresses[${index}]`,
        `'${address.slice(0, 100)}' is not an IP address or a range such as 203.0.113.0/24.`,
      )
    }
  }
}

const expiryOf = ({ expires_at: seconds }: GivenKey, present: Date | null) => {
  if (seconds === undefined) return present
  return seconds === null ? null : timeOfSeconds(seconds)
}

/** Merges the body into the current values. Null clears a value; an absent one is unchanged. */
export const readKeyChange = (present: KeySettings, given: GivenKey, catalog: Catalog): KeySettings => {
  if (given.models) assertModels(given.models, catalog)
  if (given.addresses) assertAddresses(given.addresses)
  return {
    name: given.name ?? present.name,
    role: (given.role as OperatorRole | undefined) ?? present.role,
    scopes:
      given.scopes === undefined
        ? present.scopes
        : keyScopes.filter((scope) => given.scopes?.includes(scope)),
    models: given.models === undefined ? present.models : given.models,
    addresses: given.addresses === undefined ? present.addresses : given.addresses,
    expiresAt: expiryOf(given, present.expiresAt),
    isDisabled: given.disabled ?? present.isDisabled,
    requestsPerMinute:
      given.requests_per_minute === undefined ? present.requestsPerMinute : given.requests_per_minute,
    limits: given.limits ?? present.limits,
    concurrency: given.concurrency === undefined ? present.concurrency : given.concurrency,
    dialect: (given.dialect as KeySettings['dialect'] | undefined) ?? present.dialect,
  }
}

/** The spending limits in the body, if any. */
export const readSpendingLimits = (
  given: GivenKey,
): { quotaMicros: number | null | undefined; budgets: KeyBudget[] | undefined } => {
  const budgets = given.budgets?.map(({ period, limit_micros: limitMicros }) => ({
    period: period as Period,
    limitMicros,
  }))
  if (budgets !== undefined && new Set(budgets.map(({ period }) => period)).size < budgets.length) {
    throw refuse('budgets', "'budgets' must name each period once.")
  }
  return { quotaMicros: given.quota_micros, budgets }
}

const ofCustomersOnly = ['scopes', 'models', 'quota_micros', 'budgets', 'concurrency', 'dialect'] as const

/** Operator keys cannot create or spend, so limits on that are rejected. A role is rejected for any other key. */
export const assertFits = ({ kind }: Pick<KeyRecord, 'kind'>, given: GivenKey): void => {
  if (kind !== 'admin') {
    if (given.role !== undefined) throw refuse('role', "'role' can only be set for an operator key.")
    return
  }
  for (const name of ofCustomersOnly) {
    if (given[name] !== undefined) throw refuse(name, `'${name}' cannot be set for an operator key.`)
  }
}
