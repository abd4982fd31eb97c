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

/** A request to hold money for a task. */
export interface Hold {
  caller: Caller
  /** The task or request that the hold is for. An id that contains a time contains that of the hold. */
  taskAt: (atMs: number) => { id: string; day: string }
  amountMicros: number
}

const doNotRetry = { 'x-should-retry': 'false' }

/** The monthly spending of an account, over all of its wallets. */
interface MonthlySpending {
  capMicros: number
  spentMicros: number
}

/** The spending limits of a wallet, without those of the key. */
export type SpendingPower = Pick<
  WalletPower,
  'availableMicros' | 'subscriptionEndsAt' | 'subscriptionCycleEndsAt' | 'hasPaymentFailed'
> & { monthly: MonthlySpending | undefined }

/** The used amount of a budget in the current period. */
export const usedNow = ({ period, usedMicros, startedAtMs }: Budget, nowMs: number): number =>
  startedAtMs < startOf(period, nowMs) ? 0 : usedMicros

const time = (atMs: number) => new Date(atMs).toISOString()

type RequestedHold = Pick<Hold, 'amountMicros'> & { wallet: Wallet; currency: string }

/** The message for the first limit that the amount exceeds; undefined if it exceeds none. */
const exceededLimit = (
  { amountMicros, currency }: Pick<RequestedHold, 'amountMicros' | 'currency'>,
  { quota, budgets }: KeyLimits,
  monthly: MonthlySpending | undefined,
  nowMs: number,
): string | undefined => {
  const shortfallText = (limitMicros: number, usedMicros: number) => {
    const leftMicros = Math.max(0, limitMicros - usedMicros)
    const state = leftMicros === 0 ? 'used up' : 'too low'
    return `is ${state}: ${formatShare(leftMicros, limitMicros, currency)} left; this request needs ${formatAmount(amountMicros, currency)}.`
  }
  if (quota !== undefined && quota.usedMicros + amountMicros > quota.limitMicros) {
    return `This key's quota ${shortfallText(quota.limitMicros, quota.usedMicros)}`
  }
  for (const period of periods) {
    const budget = budgets.find((each) => each.period === period)
    if (budget === undefined) continue
    const usedMicros = usedNow(budget, nowMs)
    if (usedMicros + amountMicros > budget.limitMicros) {
      return `This key's budget per ${period} ${shortfallText(budget.limitMicros, usedMicros)} It resets at ${time(endOf(period, nowMs))}.`
    }
  }
  if (monthly !== undefined && monthly.spentMicros + amountMicros > monthly.capMicros) {
    return `The account's spend cap per month ${shortfallText(monthly.capMicros, monthly.spentMicros)} It resets at ${time(endOf('month', nowMs))}.`
  }
  return undefined
}

/** The error for a hold that cannot be placed; undefined if it fits. The order of the checks is part of the contract. */
export const refusalOf = (
  hold: RequestedHold,
  power: SpendingPower | undefined,
  limits: KeyLimits,
  nowMs: number,
): ApiError | undefined => {
  const amountText = (micros: number) => formatAmount(micros, hold.currency)
  const availableMicros = power?.availableMicros ?? 0
  const endsAtMs = power?.subscriptionEndsAt?.getTime() ?? 0
  if (hold.wallet === 'subscription' && endsAtMs <= nowMs) {
    const message =
      endsAtMs === 0
        ? 'This account has no subscription. Subscribe to a plan or use a pay-as-you-go key.'
        : `The subscription ended at ${time(endsAtMs)}. Renew it or use a pay-as-you-go key.`
    return new ApiError('subscription_expired', { message, headers: doNotRetry })
  }
  const exceeded = exceededLimit(hold, limits, power?.monthly, nowMs)
  if (exceeded !== undefined) {
    return new ApiError('quota_exceeded', { message: exceeded, headers: doNotRetry })
  }
  if (hold.amountMicros <= availableMicros) return undefined
  if (hold.wallet === 'subscription') {
    const cycleEndsAtMs = power?.subscriptionCycleEndsAt?.getTime() ?? endsAtMs
    const then =
      cycleEndsAtMs < endsAtMs
        ? `It resets at ${time(cycleEndsAtMs)}.`
        : `The subscription ends at ${time(endsAtMs)}.`
    return new ApiError('quota_exceeded', {
      message: `The subscription's quota for this cycle is ${availableMicros === 0 ? 'used up' : 'too low'}: ${amountText(availableMicros)} left; this request needs ${amountText(hold.amountMicros)}. ${then}`,
      headers: doNotRetry,
    })
  }
  const shortfall = `balance is too low: ${amountText(availableMicros)} available; this request needs ${amountText(hold.amountMicros)}.`
  return power?.hasPaymentFailed === true
    ? new ApiError('payment_failed', {
        message: `The last payment failed, and the ${shortfall}`,
        headers: doNotRetry,
      })
    : new ApiError('insufficient_balance', {
        message: `The ${shortfall} Top up the account and try again.`,
        headers: doNotRetry,
      })
}

const distinctWallets = (spent: { accountId: string; wallet: Wallet }[]) => [
  ...new Map(
    spent.map(({ accountId, wallet }) => [`${accountId}/${wallet}`, { accountId, wallet }]),
  ).values(),
]

/** The spending limits by wallet. Monthly spending is the sum over all wallets of an account. */
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

/** Locks the wallets. Renews due cycles here too, so that a hold does not wait for a worker. */
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
  quota_exceeded: 'The quota of this key, its subscription, or its account is used up.',
}

/**
 * The error for a caller that cannot pay for anything; undefined if any amount is left. It takes no locks and places no
 * hold: it only avoids work for a request that would be refused anyway.
 */
export const findPaymentProblem = async (
  database: Database,
  caller: Caller,
): Promise<ApiError | undefined> => {
  const wallet = walletOf(caller)
  const wallets = await readWallets(database, [{ accountId: caller.accountId, wallet }], { isLocked: false })
  // The next hold renews the cycle and may then fit.
  if (wallets.some((each) => hasCycleToRenew(each, Date.now()))) return undefined
  const { nowMs, limits } = await readKeyLimits(database, [caller.keyId])
  const power = powersOf(wallets, nowMs).get(`${caller.accountId}/${wallet}`)
  const hold = { amountMicros: 1, wallet, currency: caller.currency }
  const refusal = refusalOf(hold, power, limits.get(caller.keyId) ?? noLimits, nowMs)
  if (refusal === undefined) return undefined
  const { code, headers } = refusal
  const message = insolvencyMessages[code] ?? refusal.message
  return new ApiError(code, { message, ...(headers && { headers }) })
}

export interface PlacedHolds {
  /** One for each hold; undefined for an accepted one. */
  refusals: (ApiError | undefined)[]
  /**
   * The database's time, read under the locks: of two transactions that hold for the same account, the one that commits
   * first has the earlier time.
   */
  at: Instant
  atMs: number
}

/**
 * Places as many of the holds as fit, in order, inside the caller's transaction. `holds` must not be empty. Wallets are
 * locked in a fixed order, so that concurrent calls do not deadlock.
 */
export const placeHolds = async (database: Database, holds: Hold[]): Promise<PlacedHolds> => {
  const wallets = await lockWallets(
    database,
    distinctWallets(holds.map(({ caller }) => ({ accountId: caller.accountId, wallet: walletOf(caller) }))),
  )
  const { at, nowMs, limits } = await readKeyLimits(database, [
    ...new Set(holds.map(({ caller }) => caller.keyId)),
  ])
  const powers = powersOf(wallets, nowMs)
  const movements: Movement[] = []
  const refusals = holds.map(({ caller, taskAt, amountMicros }) => {
    const { accountId, keyId, currency } = caller
    const wallet = walletOf(caller)
    const power = powers.get(`${accountId}/${wallet}`)
    const { quota, budgets } = limits.get(keyId) ?? noLimits
    const refusal = refusalOf({ amountMicros, wallet, currency }, power, { quota, budgets }, nowMs)
    if (refusal !== undefined) return refusal
    // Later holds of the same batch see the reduced amounts.
    if (power !== undefined) power.availableMicros -= amountMicros
    if (power?.monthly !== undefined) power.monthly.spentMicros += amountMicros
    if (quota !== undefined) quota.usedMicros += amountMicros
    for (const budget of budgets) {
      budget.usedMicros = usedNow(budget, nowMs) + amountMicros
      budget.startedAtMs = Math.max(budget.startedAtMs, startOf(budget.period, nowMs))
    }
    const { id: taskId, day } = taskAt(nowMs)
    movements.push({ kind: 'hold', accountId, wallet, taskId, day, amountMicros, keyId })
    return undefined
  })
  await postMovements(database, movements, { at })
  return { refusals, at, atMs: nowMs }
}

/** How the hold of a finished task ends. */
export interface Settlement {
  accountId: string
  keyId: string
  wallet: Wallet
  taskId: string
  day: string
  holdMicros: number
  /** At most the hold; the rest is released. Zero for a failed task. */
  captureMicros: number
}

/**
 * Ends holds inside the transaction that ends their tasks, so exactly once. The released amount of a hold from an earlier
 * subscription cycle expires at once, because it does not belong to the current cycle.
 */
export const settleHolds = async (database: Database, settlements: Settlement[]): Promise<void> => {
  if (settlements.length === 0) return
  const { heldSince, ofEarlierCycles } = await lockHolds(database, settlements)
  const movements: Movement[] = []
  for (const { accountId, wallet, taskId, day, keyId, holdMicros, captureMicros } of settlements) {
    if (captureMicros > holdMicros) throw new RangeError(`The capture of ${taskId} exceeds its hold.`)
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
