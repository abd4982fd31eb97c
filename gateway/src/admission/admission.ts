/**
 * Admission control: limits the resources of requests in flight. Requests, uploads, body bytes in memory and spooled
 * bytes on disk are each limited per address, key and account and in total. Part of every total is reserved for
 * operators. Bytes are counted when they arrive, independent of Content-Length.
 *
 * The counters belong to this process because they protect its memory, sockets and disk. Request rates are limited
 * for all processes together by `rate-limits/rate-limit.ts`.
 */
import { ApiError } from '@kinora/contract/errors'

import { addressPrefixOf } from './address-prefix.ts'

export const resources = ['requests', 'uploads', 'bodyBytes', 'spoolBytes'] as const
type Resource = (typeof resources)[number]

/** How much of a resource may be in flight at once, per scope. */
export interface ScopeLimits {
  address: number
  key: number
  account: number
  total: number
}
type Scope = keyof ScopeLimits

export type AdmissionLimits = Record<Resource, ScopeLimits>

/** The sender of a request, as far as it is known. */
export interface Client {
  address: string
  keyId?: string | undefined
  accountId?: string | undefined
  isOperator?: boolean
}

/** The resources that one request uses. */
export interface Ticket {
  /** Acquires more of a resource, or throws. */
  take: (resource: Resource, amount: number) => void
  release: (resource: Resource) => void
  /** Releases everything; later calls have no effect. */
  close: () => void
}

export interface Admission {
  open: (client: Client) => Ticket
  /** The total in flight. */
  inFlight: (resource: Resource) => number
}

/** The share of every total that customers cannot use. */
const operatorShare = 0.1

const names: Record<Resource, string> = {
  requests: 'requests in flight',
  uploads: 'uploads in flight',
  bodyBytes: 'bytes of request bodies in memory',
  spoolBytes: 'bytes of uploads on disk',
}

const scopeNames: Record<Scope, string> = {
  address: 'this address',
  key: 'this key',
  account: 'this account',
  total: 'this server',
}

/** Callers can count their requests and uploads, so these limits are a 429. Bytes are our own budget, so it is a 503. */
const refusalOf = (resource: Resource, scope: Scope, limit: number): ApiError => {
  const isCallersLimit = scope !== 'total' && (resource === 'requests' || resource === 'uploads')
  return isCallersLimit
    ? new ApiError('rate_limit_exceeded', {
        message: `Concurrency limit reached: ${limit} ${names[resource]} for ${scopeNames[scope]}. Try again when one of them has finished.`,
        headers: { 'retry-after': '1' },
      })
    : new ApiError('service_unavailable', {
        message: `Too many ${names[resource]} for ${scopeNames[scope]}. Try again in 2 s.`,
        headers: { 'retry-after': '2' },
      })
}

const countersOf = ({ address, keyId, accountId, isOperator = false }: Client): [Scope, string][] => [
  // Customers who share an operator's address must not use up the operator's limit.
  ...(isOperator ? [] : [['address', `address ${addressPrefixOf(address)}`] as [Scope, string]]),
  ...(keyId === undefined ? [] : [['key', `key ${keyId}`] as [Scope, string]]),
  ...(accountId === undefined ? [] : [['account', `account ${accountId}`] as [Scope, string]]),
  ['total', 'total'],
]

export const createAdmission = (limits: AdmissionLimits): Admission => {
  const counts: Record<Resource, Map<string, number>> = {
    requests: new Map(),
    uploads: new Map(),
    bodyBytes: new Map(),
    spoolBytes: new Map(),
  }

  const limitOf = (resource: Resource, scope: Scope, isOperator: boolean): number => {
    const limit = limits[resource][scope]
    return scope === 'total' && !isOperator ? Math.floor(limit * (1 - operatorShare)) : limit
  }

  return {
    inFlight: (resource) => counts[resource].get('total') ?? 0,
    open: (client) => {
      const counters = countersOf(client)
      const held: Record<Resource, number> = { requests: 0, uploads: 0, bodyBytes: 0, spoolBytes: 0 }
      let isClosed = false
      const add = (resource: Resource, amount: number) => {
        held[resource] += amount
        const of = counts[resource]
        for (const [, counter] of counters) {
          const count = (of.get(counter) ?? 0) + amount
          if (count === 0) of.delete(counter)
          else of.set(counter, count)
        }
      }
      return {
        take: (resource, amount) => {
          // A closed ticket acquires nothing, even if the handler still runs.
          if (isClosed || amount === 0) return
          for (const [scope, counter] of counters) {
            const limit = limitOf(resource, scope, client.isOperator === true)
            if ((counts[resource].get(counter) ?? 0) + amount > limit) throw refusalOf(resource, scope, limit)
          }
          add(resource, amount)
        },
        release: (resource) => add(resource, -held[resource]),
        close: () => {
          isClosed = true
          for (const resource of resources) add(resource, -held[resource])
        },
      }
    },
  }
}
