import { ApiError } from '@kinora/contract/errors'

import type { Caller } from '../keys/caller.ts'
import type { Database } from '../platform/postgres.ts'
import {
  addKeyUsage,
  lockKeyQuotas,
  lockSpendingPower,
  postMovements,
  type KeyQuota,
  type SpendingPower,
} from './ledger-store.ts'
import { formatMicros, type Movement, type Purse } from './money.ts'

export const purseOf = (caller: Pick<Caller, 'kind'>): Purse => caller.kind

/** One request to set money aside for a task. */
export interface Hold {
  caller: Caller
  taskId: string
  day: string
  amountMicros: number
}

const doNotRetry = { 'x-should-retry': 'false' }

/** Why this hold cannot be placed, or undefined when it fits. The order of the checks is part of the contract. */
export const refusalOf = (
  hold: Pick<Hold, 'amountMicros'> & { purse: Purse },
  power: Omit<SpendingPower, 'accountId'> | undefined,
  quota: Omit<KeyQuota, 'keyId'> | undefined,
  nowMs: number = Date.now(),
): ApiError | undefined => {
  const needed = formatMicros(hold.amountMicros)
  const availableMicros = power?.availableMicros ?? 0
  if (hold.purse === 'subscription') {
    const endsAt = power?.subscriptionEndsAt
    if (endsAt === undefined || endsAt === null || endsAt.getTime() <= nowMs) {
      return new ApiError('subscription_expired', { headers: doNotRetry })
    }
  }
  if (quota !== undefined && quota.usedMicros + hold.amountMicros > quota.quotaMicros) {
    return new ApiError('quota_exceeded', {
      message: `This key's quota of ${formatMicros(quota.quotaMicros)} has ${formatMicros(Math.max(0, quota.quotaMicros - quota.usedMicros))} left; this request needs ${needed}.`,
      headers: doNotRetry,
    })
  }
  if (hold.amountMicros <= availableMicros) return undefined
  if (hold.purse === 'subscription') {
    const resetsAt = power?.subscriptionCycleEndsAt?.toISOString()
    return new ApiError('quota_exceeded', {
      message: `This cycle's quota has ${formatMicros(availableMicros)} left; this request needs ${needed}. It resets at ${resetsAt}.`,
      headers: doNotRetry,
    })
  }
  if (power?.hasPaymentFailed === true) return new ApiError('payment_failed', { headers: doNotRetry })
  return new ApiError('insufficient_balance', {
    message: `The balance of ${formatMicros(availableMicros)} is too low; this request needs ${needed}.`,
    headers: doNotRetry,
  })
}

/** Each purse once. */
const pursesOf = (spent: { accountId: string; purse: Purse }[]) => [
  ...new Map(spent.map(({ accountId, purse }) => [`${accountId}/${purse}`, { accountId, purse }])).values(),
]

/**
 * Places as many of these holds as fit, in order, inside the caller's transaction. Each answer is a
 * refusal, or undefined for a hold that stands. Purses and quotas are locked in a fixed order first,
 * so any number of processes may do this at once.
 */
export const placeHolds = async (database: Database, holds: Hold[]): Promise<(ApiError | undefined)[]> => {
  const powers = await lockSpendingPower(
    database,
    pursesOf(holds.map(({ caller }) => ({ accountId: caller.accountId, purse: purseOf(caller) }))),
  )
  const quotas = await lockKeyQuotas(database, [
    ...new Set(holds.flatMap(({ caller }) => (caller.hasQuota ? caller.keyId : []))),
  ])
  const movements: Movement[] = []
  const usage: { keyId: string; amountMicros: number }[] = []
  const refusals = holds.map((hold) => {
    const purse = purseOf(hold.caller)
    const power = powers.get(`${hold.caller.accountId}/${purse}`)
    const quota = quotas.get(hold.caller.keyId)
    const refusal = refusalOf({ amountMicros: hold.amountMicros, purse }, power, quota)
    if (refusal !== undefined) return refusal
    if (power !== undefined) power.availableMicros -= hold.amountMicros
    if (quota !== undefined) {
      quota.usedMicros += hold.amountMicros
      usage.push({ keyId: hold.caller.keyId, amountMicros: hold.amountMicros })
    }
    movements.push({
      kind: 'hold',
      accountId: hold.caller.accountId,
      purse,
      taskId: hold.taskId,
      day: hold.day,
      amountMicros: hold.amountMicros,
    })
    return undefined
  })
  await postMovements(database, movements)
  await addKeyUsage(database, usage)
  return refusals
}

/** What a finished task does with its hold. */
export interface Settlement {
  accountId: string
  keyId: string
  purse: Purse
  taskId: string
  day: string
  holdMicros: number
  /** At most the hold; the rest goes back. Zero for a task that failed. */
  captureMicros: number
}

/** Ends holds inside the transaction that ends their tasks, so that it happens exactly as often: once. */
export const settleHolds = async (database: Database, settlements: Settlement[]): Promise<void> => {
  const movements: Movement[] = []
  const usage: { keyId: string; amountMicros: number }[] = []
  for (const { holdMicros, captureMicros, keyId, ...about } of settlements) {
    if (captureMicros > holdMicros) throw new RangeError(`${about.taskId} would capture more than it holds`)
    const releaseMicros = holdMicros - captureMicros
    const { accountId, purse, taskId, day } = about
    const movement = (kind: 'capture' | 'release', amountMicros: number) => {
      if (amountMicros > 0) movements.push({ kind, accountId, purse, taskId, day, amountMicros })
    }
    movement('capture', captureMicros)
    movement('release', releaseMicros)
    // A key without a quota has no row to give back to.
    if (releaseMicros > 0) usage.push({ keyId, amountMicros: -releaseMicros })
  }
  const purses = pursesOf(settlements)
  // Several are locked in a fixed order; a key's quota is only ever changed under the lock of its account's purse.
  if (purses.length > 1) await lockSpendingPower(database, purses)
  await postMovements(database, movements)
  await addKeyUsage(database, usage)
}

export const settleHold = (database: Database, settlement: Settlement): Promise<void> =>
  settleHolds(database, [settlement])
