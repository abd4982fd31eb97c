import { ApiError, type ErrorCode } from '@kinora/contract/errors'

import type { Caller } from '../../auth/caller.ts'
import type { Database } from '../../platform/postgres.ts'
import { postMovements, type Instant } from '../ledger/ledger-store.ts'
import { formatAmount, formatShare, type Movement, type Wallet } from '../money/money.ts'
import { endOf, periods, startOf } from '../money/period.ts'
import { renewCycle } from '../subscriptions/subscriptions.ts'
import {
  lockHolds,
  lockWithoutWallet,
  readKeyLimits,
  readWallets,
  type Budget,
  type KeyLimits,
  type WalletPower,
} from './spending-store.ts'

export const walletOf = (caller: Pick<Caller, 'kind'>): Wallet => caller.kind

/** One request to set money aside for a task. */
export interface Hold {
  caller: Caller
  taskId: string
  day: string
  amountMicros: number
}

const doNotRetry = { 'x-should-retry': 'false' }

/** What an account may spend this month, over all of its wallets. */
interface MonthlySpending {
  capMicros: number
  spentMicros: number
}

/** What there is to spend, as far as it is no matter of the key. */
export type SpendingPower = Pick<
  WalletPower,
  'availableMicros' | 'subscriptionEndsAt' | 'subscriptionCycleEndsAt' | 'hasPaymentFailed'
> & { monthly: MonthlySpending | undefined }

/** What has been used of a budget in the period that is now. */
export const usedNow = ({ period, usedMicros, startedAtMs }: Budget, nowMs: number): number =>
  startedAtMs < startOf(period, nowMs) ? 0 : usedMicros

const time = (atMs: number) => new Date(atMs).toISOString()

/** What is asked of a wallet. */
type AskedHold = Pick<Hold, 'amountMicros'> & { wallet: Wallet; currency: string }

/** Which limit is too tight for this amount, in words: whose it is, what it has left, when it starts anew. */
const tightLimit = (
  { amountMicros, currency }: Pick<AskedHold, 'amountMicros' | 'currency'>,
  { quota, budgets }: KeyLimits,
  monthly: MonthlySpending | undefined,
  nowMs: number,
): string | undefined => {
  const isTooLow = (limitMicros: number, usedMicros: number) => {
    const leftMicros = Math.max(0, limitMicros - usedMicros)
    const state = leftMicros === 0 ? 'used up' : 'too low'
    return `is ${state}: ${formatShare(leftMicros, limitMicros, currency)} left; this request needs ${formatAmount(amountMicros, currency)}.`
  }
  if (quota !== undefined && quota.usedMicros + amountMicros > quota.limitMicros) {
    return `This key's quota ${isTooLow(quota.limitMicros, quota.usedMicros)}`
  }
  for (const period of periods) {
    const budget = budgets.find((each) => each.period === period)
    if (budget === undefined) continue
    const usedMicros = usedNow(budget, nowMs)
    if (usedMicros + amountMicros > budget.limitMicros) {
      return `This key's budget per ${period} ${isTooLow(budget.limitMicros, usedMicros)} It resets at ${time(endOf(period, nowMs))}.`
    }
  }
  if (monthly !== undefined && monthly.spentMicros + amountMicros > monthly.capMicros) {
    return `The account's spend cap per month ${isTooLow(monthly.capMicros, monthly.spentMicros)} It resets at ${time(endOf('month', nowMs))}.`
  }
  return undefined
}

/** Why this hold cannot be placed, or undefined when it fits. The order of the checks is part of the contract. */
export const refusalOf = (
  hold: AskedHold,
  power: SpendingPower | undefined,
  limits: KeyLimits,
  nowMs: number,
): ApiError | undefined => {
  const inWords = (micros: number) => formatAmount(micros, hold.currency)
  const availableMicros = power?.availableMicros ?? 0
  const endsAtMs = power?.subscriptionEndsAt?.getTime() ?? 0
  if (hold.wallet === 'subscription' && endsAtMs <= nowMs) {
    return new ApiError('subscription_expired', { headers: doNotRetry })
  }
  const tight = tightLimit(hold, limits, power?.monthly, nowMs)
  if (tight !== undefined) return new ApiError('quota_exceeded', { message: tight, headers: doNotRetry })
  if (hold.amountMicros <= availableMicros) return undefined
  if (hold.wallet === 'subscription') {
    const cycleEndsAtMs = power?.subscriptionCycleEndsAt?.getTime() ?? endsAtMs
    const then =
      cycleEndsAtMs < endsAtMs
        ? `It resets at ${time(cycleEndsAtMs)}.`
        : `The subscription ends at ${time(endsAtMs)}.`
    return new ApiError('quota_exceeded', {
      message: `This cycle's quota has ${inWords(availableMicros)} left; this request needs ${inWords(hold.amountMicros)}. ${then}`,
      headers: doNotRetry,
    })
  }
  if (power?.hasPaymentFailed === true) return new ApiError('payment_failed', { headers: doNotRetry })
  return new ApiError('insufficient_balance', {
    message: `The balance of ${inWords(availableMicros)} is too low; this request needs ${inWords(hold.amountMicros)}.`,
    headers: doNotRetry,
  })
}

/** Each wallet once. */
const walletsOf = (spent: { accountId: string; wallet: Wallet }[]) => [
  ...new Map(
    spent.map(({ accountId, wallet }) => [`${accountId}/${wallet}`, { accountId, wallet }]),
  ).values(),
]

/** The powers by wallet; what an account has spent this month is one number for all of its wallets. */
const powersOf = (wallets: WalletPower[], nowMs: number): Map<string, SpendingPower> => {
  const monthly = new Map<string, MonthlySpending>()
  const thisMonthMs = startOf('month', nowMs)
  for (const { accountId, spendCapMicros, spentMicros, spentSince } of wallets) {
    if (spendCapMicros === null) continue
    const sum = monthly.get(accountId) ?? { capMicros: spendCapMicros, spentMicros: 0 }
    if (Date.parse(spentSince) >= thisMonthMs) sum.spentMicros += spentMicros
    monthly.set(accountId, sum)
  }
  return new Map(
    wallets.map((wallet) => [
      `${wallet.accountId}/${wallet.wallet}`,
      { ...wallet, monthly: monthly.get(wallet.accountId) },
    ]),
  )
}

const hasCycleToRenew = (
  { wallet, cycleQuotaMicros, subscriptionEndsAt, subscriptionCycleEndsAt }: WalletPower,
  nowMs: number,
) =>
  wallet === 'subscription' &&
  cycleQuotaMicros !== null &&
  (subscriptionCycleEndsAt?.getTime() ?? Infinity) <= nowMs &&
  (subscriptionEndsAt?.getTime() ?? 0) > nowMs

/** The wallets under their locks. A cycle that is over is renewed here too, so that none waits for a worker. */
const lockWallets = async (database: Database, wanted: { accountId: string; wallet: Wallet }[]) => {
  const wallets = await readWallets(database, wanted, { isLocked: true })
  const withWallet = new Set(wallets.flatMap(({ accountId, hasRow }) => (hasRow ? accountId : [])))
  await lockWithoutWallet(
    database,
    wanted.flatMap(({ accountId }) => (withWallet.has(accountId) ? [] : accountId)),
  )
  const isWanted = ({ accountId, wallet }: WalletPower) =>
    wanted.some((each) => each.accountId === accountId && each.wallet === wallet)
  const due = wallets.filter((wallet) => isWanted(wallet) && hasCycleToRenew(wallet, Date.now()))
  if (due.length === 0) return wallets
  for (const { accountId } of due) await renewCycle(database, accountId)
  return readWallets(database, wanted, { isLocked: true })
}

const noLimits: KeyLimits = { quota: undefined, budgets: [] }

const insolvencyMessages: Partial<Record<ErrorCode, string>> = {
  insufficient_balance: 'The balance is used up. Top up the account and try again.',
  quota_exceeded: 'The quota of this key, its subscription or its account is used up.',
}

/**
 * Why this caller could not pay for anything at all, or undefined while there is something left. It takes no lock and
 * holds nothing: it only keeps work from being done for a caller who is certain to be refused in the end.
 */
export const findInsolvency = async (database: Database, caller: Caller): Promise<ApiError | undefined> => {
  const wallet = walletOf(caller)
  const wallets = await readWallets(database, [{ accountId: caller.accountId, wallet }], { isLocked: false })
  // The next hold renews the cycle, and may fit then.
  if (wallets.some((each) => hasCycleToRenew(each, Date.now()))) return undefined
  const { nowMs, limits } = await readKeyLimits(database, [caller.keyId])
  const power = powersOf(wallets, nowMs).get(`${caller.accountId}/${wallet}`)
  const hold = { amountMicros: 1, wallet, currency: caller.currency }
  const refusal = refusalOf(hold, power, limits.get(caller.keyId) ?? noLimits, nowMs)
  if (refusal === undefined) return undefined
  const { code, headers } = refusal
  const message = insolvencyMessages[code]
  return new ApiError(code, { ...(message !== undefined && { message }), ...(headers && { headers }) })
}

export interface PlacedHolds {
  /** One for each hold: why it was refused, or undefined for one that stands. */
  refusals: (ApiError | undefined)[]
  /**
   * When, by the database's clock and under the locks: of two transactions that hold for the same account, the one
   * that is seen first has the earlier time.
   */
  at: Instant
  atMs: number
}

/**
 * Places as many of these holds as fit, in order, inside the caller's transaction; there must be at least one. Wallets
 * are locked in a fixed order first, so any number of processes may do this at once.
 */
export const placeHolds = async (database: Database, holds: Hold[]): Promise<PlacedHolds> => {
  const wallets = await lockWallets(
    database,
    walletsOf(holds.map(({ caller }) => ({ accountId: caller.accountId, wallet: walletOf(caller) }))),
  )
  const { at, nowMs, limits } = await readKeyLimits(database, [
    ...new Set(holds.map(({ caller }) => caller.keyId)),
  ])
  const powers = powersOf(wallets, nowMs)
  const movements: Movement[] = []
  const refusals = holds.map(({ caller, taskId, day, amountMicros }) => {
    const { accountId, keyId, currency } = caller
    const wallet = walletOf(caller)
    const power = powers.get(`${accountId}/${wallet}`)
    const { quota, budgets } = limits.get(keyId) ?? noLimits
    const refusal = refusalOf({ amountMicros, wallet, currency }, power, { quota, budgets }, nowMs)
    if (refusal !== undefined) return refusal
    // What comes after it in the same batch finds less.
    if (power !== undefined) power.availableMicros -= amountMicros
    if (power?.monthly !== undefined) power.monthly.spentMicros += amountMicros
    if (quota !== undefined) quota.usedMicros += amountMicros
    for (const budget of budgets) {
      budget.usedMicros = usedNow(budget, nowMs) + amountMicros
      budget.startedAtMs = Math.max(budget.startedAtMs, startOf(budget.period, nowMs))
    }
    movements.push({ kind: 'hold', accountId, wallet, taskId, day, amountMicros, keyId })
    return undefined
  })
  await postMovements(database, movements, { at })
  return { refusals, at, atMs: nowMs }
}

/** What a finished task does with its hold. */
export interface Settlement {
  accountId: string
  keyId: string
  wallet: Wallet
  taskId: string
  day: string
  holdMicros: number
  /** At most the hold; the rest goes back. Zero for a task that failed. */
  captureMicros: number
}

/**
 * Ends holds inside the transaction that ends their tasks, so that it happens exactly as often: once. What is given
 * back of a cycle that is over expires with it: it was never money of the cycle that is now.
 */
export const settleHolds = async (database: Database, settlements: Settlement[]): Promise<void> => {
  if (settlements.length === 0) return
  const { heldSince, ofEarlierCycles } = await lockHolds(database, settlements)
  const movements: Movement[] = []
  for (const { accountId, wallet, taskId, day, keyId, holdMicros, captureMicros } of settlements) {
    if (captureMicros > holdMicros) throw new RangeError(`${taskId} would capture more than it holds`)
    const move = (kind: Movement['kind'], amountMicros: number) => {
      if (amountMicros > 0) movements.push({ kind, accountId, wallet, taskId, day, amountMicros, keyId })
    }
    move('capture', captureMicros)
    move('release', holdMicros - captureMicros)
    if (ofEarlierCycles.has(taskId)) move('expiry', holdMicros - captureMicros)
  }
  await postMovements(database, movements, { heldSince })
}

export const settleHold = (database: Database, settlement: Settlement): Promise<void> =>
  settleHolds(database, [settlement])
