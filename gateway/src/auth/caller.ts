import type { KeyScope } from '@kinora/contract/key-scope'
import type { LimitGroup } from '@kinora/contract/operation'
import type { OperatorRole } from '@kinora/contract/operator-key'
import ipaddr from 'ipaddr.js'

import type { KeyKind } from './key-text.ts'

/** The authenticated caller: one key of one account, as it was when the request arrived. */
export interface Caller {
  keyId: string
  accountId: string
  kind: Exclude<KeyKind, 'admin'>
  scopes: KeyScope[]
  /** Undefined allows every model. */
  models: string[] | undefined
  /** CIDR ranges or single addresses; undefined allows every address. */
  addresses: string[] | undefined
  requestsPerMinute: number | undefined
  limits: Partial<Record<LimitGroup, number>>
  dialect: 'reference' | 'openai'
  /** Whether the key has its own spending limits: a quota or budgets. */
  hasQuota: boolean
  /** ISO 4217 code of the instance's currency, in which the account pays. */
  currency: string
}

/** An authenticated operator, identified by their key as in the audit log. */
export interface Operator {
  keyId: string
  name: string
  hint: string
  role: OperatorRole
  requestsPerMinute: number | undefined
  limits: Partial<Record<LimitGroup, number>>
  /** ISO 4217 code of every amount of the instance. */
  currency: string
}

/** Whether a text is valid in a key's list of addresses. */
export const isAddressRange = (text: string): boolean => ipaddr.isValid(text) || ipaddr.isValidCIDR(text)

/** Fails closed: with a list, an address that cannot be parsed is not allowed. */
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
