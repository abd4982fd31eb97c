import type { LimitGroup } from '@kinora/contract/operation'
import ipaddr from 'ipaddr.js'

import type { KeyKind } from './key-text.ts'

/** Who is calling: one key of one account, as it was found when the request came in. */
export interface Caller {
  keyId: string
  accountId: string
  kind: Exclude<KeyKind, 'admin'>
  /** Undefined means every model. */
  models: string[] | undefined
  /** CIDR ranges or single addresses; undefined means from anywhere. */
  addresses: string[] | undefined
  requestsPerMinute: number | undefined
  limits: Partial<Record<LimitGroup, number>>
  dialect: 'reference' | 'openai'
  /** Whether the key has limits of its own to what it may spend: a quota or budgets. */
  hasQuota: boolean
  /** ISO 4217 code of what its account pays in, which is the instance's currency. */
  currency: string
}

/** Who runs the service: the key they came with, as the audit log names it. */
export interface Operator {
  keyId: string
  name: string
  hint: string
  requestsPerMinute: number | undefined
  limits: Partial<Record<LimitGroup, number>>
  /** ISO 4217 code of every amount of the instance. */
  currency: string
}

/** Whether a text can stand in a key's list of addresses. */
export const isAddressRange = (text: string): boolean => ipaddr.isValid(text) || ipaddr.isValidCIDR(text)

/** An address that cannot be read is never allowed: a list that is set fails closed. */
export const isAddressAllowed = (caller: Pick<Caller, 'addresses'>, address: string): boolean => {
  if (caller.addresses === undefined) return true
  if (!ipaddr.isValid(address)) return false
  const parsed = ipaddr.process(address)
  return caller.addresses.some((range) => {
    if (ipaddr.isValid(range)) return ipaddr.process(range).toString() === parsed.toString()
    if (!ipaddr.isValidCIDR(range)) return false
    const [network, bits] = ipaddr.parseCIDR(range)
    return parsed.kind() === network.kind() && parsed.match(network, bits)
  })
}
