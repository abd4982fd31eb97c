/**
 * Admission control: limits the resources of requests in flight. Requests, uploads, body bytes in memory and spooled
 * bytes on disk are each limited per address, key and account and in total. Part of every total is reserved for
 * operators. Bytes are counted when they arrive, independent of Content-Length.
 *
 * The counters belong to this process because they protect its memory, sockets and disk. Request rates are limited
 * for all processes together by `rate-limits/rate-limit.ts`.
 */
import { ApiError } from '@kinora/contract/errors'

import { rejection } from '../platform/metrics/rejections.ts'
import { addressPrefixOf } from './address-prefix.ts'
import { createArrivingUploads, type ArrivingUpload } from './arriving-uploads.ts'

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
  /**
   * Acquires an upload, if necessary by aborting one of another account. The returned function must be called when the
   * body has arrived; from then on it is not aborted any more.
   */
  beginUpload: (upload: ArrivingUpload) => () => void
  /** How many times the usual minimum rate the upload must have now. */
  uploadRateFactor: () => number
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

  const arriving = createArrivingUploads()
  const inFlight: Admission['inFlight'] = (resource) => counts[resource].get('total') ?? 0

  return {
    inFlight,
    open: (client) => {
      const counters = countersOf(client)
      const isOperator = client.isOperator === true
      // Operators have a reserve of their own.
      const owner = isOperator ? undefined : (client.accountId ?? addressPrefixOf(client.address))
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
      /** The first scope whose limit the amount would exceed. */
      const findExceeded = (resource: Resource, amount: number) => {
        const counter = counters.find(
          ([scope, name]) =>
            (counts[resource].get(name) ?? 0) + amount > limitOf(resource, scope, isOperator),
        )
        return counter?.[0]
      }
      const take = (resource: Resource, amount: number) => {
        // A closed ticket acquires nothing, even if the handler still runs.
        if (isClosed || amount === 0) return
        const scope = findExceeded(resource, amount)
        if (scope !== undefined) {
          const reason = resource === 'requests' || resource === 'uploads' ? 'concurrency' : 'bytes'
          throw rejection(reason, refusalOf(resource, scope, limitOf(resource, scope, isOperator)))
        }
        add(resource, amount)
      }
      const release = (resource: Resource) => add(resource, -held[resource])
      let endUpload: (() => void) | undefined
      return {
        take,
        release,
        beginUpload: (upload) => {
          if (isClosed || owner === undefined) {
            take('uploads', 1)
            return () => undefined
          }
          if (findExceeded('uploads', 1) === 'total') arriving.makeRoomFor(owner)
          take('uploads', 1)
          const end = arriving.add(owner, {
            ...upload,
            abort: (reason) => {
              end()
              release('uploads')
              upload.abort(reason)
            },
          })
          endUpload = end
          return end
        },
        uploadRateFactor: () =>
          owner === undefined || endUpload === undefined
            ? 1
            : arriving.rateFactor(owner, inFlight('uploads') / limitOf('uploads', 'total', false)),
        close: () => {
          isClosed = true
          endUpload?.()
          for (const resource of resources) add(resource, -held[resource])
        },
      }
    },
  }
}
