/** What a key would be allowed to do beyond the key that manages it. */
import { limitGroups, type LimitGroup } from '@kinora/contract/operation'
import ipaddr from 'ipaddr.js'

import type { KeyBudget, KeyRecord } from '../../admin/keys/key-record-store.ts'
import type { Catalog } from '../../models/catalog.ts'

export type KeyRights = Pick<
  KeyRecord,
  | 'kind'
  | 'scopes'
  | 'models'
  | 'addresses'
  | 'expiresAt'
  | 'requestsPerMinute'
  | 'limits'
  | 'concurrency'
  | 'quotaMicros'
  | 'budgets'
>

/** What applies to keys without settings of their own. */
export interface KeyDefaults {
  limits: Record<LimitGroup, number>
  concurrencyPerKey: number | null
}

export interface Excess {
  param: string
  /** Continues "'<param>' must …". */
  demand: string
}

const isModelWithin = (allowed: string[], model: string, catalog: Catalog): boolean =>
  // An id allows the model under every name, an alias under that name only.
  allowed.includes(model) || allowed.includes(catalog.idOf(model) ?? '')

const networkOf = (range: string): [ipaddr.IPv4 | ipaddr.IPv6, number] => {
  if (ipaddr.isValidCIDR(range)) return ipaddr.parseCIDR(range)
  const address = ipaddr.process(range)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

const isRangeWithin = (allowed: string[], range: string): boolean => {
  const [first, bits] = networkOf(range)
  return allowed.some((each) => {
    const [network, networkBits] = networkOf(each)
    return first.kind() === network.kind() && bits >= networkBits && first.match(network, networkBits)
  })
}

/** Whether a limit is above another; null stands for no limit. */
const isAbove = (wanted: number | null, own: number | null): boolean =>
  own !== null && (wanted === null || wanted > own)

/** Several keys with a part of a spending limit could together spend more, so only the key itself may have one. */
const findSpendingExcess = (own: KeyRights, wanted: KeyRights, isSameKey: boolean): Excess | undefined => {
  const hasLimit = own.quotaMicros !== null || own.budgets.length > 0
  if (!hasLimit) return undefined
  if (!isSameKey) {
    const param = own.quotaMicros === null ? 'budgets' : 'quota_micros'
    return {
      param,
      demand:
        'be absent from the key of this request, because a key with a spending limit may not create or manage other keys: together they could spend more',
    }
  }
  if (isAbove(wanted.quotaMicros, own.quotaMicros))
    return { param: 'quota_micros', demand: `be at most ${own.quotaMicros}` }
  const limitOf = (budgets: KeyBudget[], period: string) =>
    budgets.find((each) => each.period === period)?.limitMicros ?? null
  const raised = own.budgets.find(({ period, limitMicros }) =>
    isAbove(limitOf(wanted.budgets, period), limitMicros),
  )
  if (raised === undefined) return undefined
  return { param: 'budgets', demand: `have at most ${raised.limitMicros} per ${raised.period}` }
}

const findListExcess = (own: KeyRights, wanted: KeyRights, catalog: Catalog): Excess | undefined => {
  if (wanted.scopes.some((scope) => !own.scopes.includes(scope)))
    return { param: 'scopes', demand: `be among ${own.scopes.join(', ')}` }
  const { models, addresses } = own
  if (
    models !== null &&
    (wanted.models === null || wanted.models.some((model) => !isModelWithin(models, model, catalog)))
  )
    return { param: 'models', demand: `be among ${models.join(', ')}` }
  if (
    addresses !== null &&
    (wanted.addresses === null || wanted.addresses.some((range) => !isRangeWithin(addresses, range)))
  )
    return { param: 'addresses', demand: `be within ${addresses.join(', ')}` }
  return undefined
}

const findRateExcess = (own: KeyRights, wanted: KeyRights, defaults: KeyDefaults): Excess | undefined => {
  if (isAbove(wanted.requestsPerMinute, own.requestsPerMinute))
    return { param: 'requests_per_minute', demand: `be at most ${own.requestsPerMinute}` }
  for (const group of limitGroups) {
    const ownLimit = own.limits[group] ?? defaults.limits[group]
    if ((wanted.limits[group] ?? defaults.limits[group]) > ownLimit)
      return { param: `limits.${group}`, demand: `be at most ${ownLimit}` }
  }
  const ownConcurrency = own.concurrency ?? defaults.concurrencyPerKey
  if (isAbove(wanted.concurrency ?? defaults.concurrencyPerKey, ownConcurrency))
    return { param: 'concurrency', demand: `be at most ${ownConcurrency}` }
  return undefined
}

/** The first right that a key has, or would have, beyond those of the calling key. */
export const findExcess = (
  own: KeyRights,
  wanted: KeyRights,
  { catalog, defaults, isSameKey }: { catalog: Catalog; defaults: KeyDefaults; isSameKey: boolean },
): Excess | undefined => {
  if (wanted.kind !== own.kind)
    return { param: 'kind', demand: `be ${own.kind}, like that of the key of this request` }
  if (own.expiresAt !== null && (wanted.expiresAt === null || wanted.expiresAt > own.expiresAt))
    return {
      param: 'expires_at',
      demand: `be at most ${Math.floor(own.expiresAt.getTime() / 1000)}, when the key of this request expires`,
    }
  return (
    findListExcess(own, wanted, catalog) ??
    findRateExcess(own, wanted, defaults) ??
    findSpendingExcess(own, wanted, isSameKey)
  )
}
