/**
 * Subscriptions and their cycles. A cycle is a grant that expires: when it is over, what is left goes and the plan's
 * quota comes. Money that a task still held then belongs to the old cycle: captured it is spent, given back it expires.
 * Wallet first, then subscription, is the order of locks everywhere.
 */
import { ApiError } from '@kinora/contract/errors'

import type { Log } from '../../platform/log.ts'
import type { Database, Postgres } from '../../platform/postgres.ts'
import { beginCycle, lockWallet, openWallet } from '../ledger/ledger-store.ts'
import { expire, grant } from '../ledger/movements.ts'
import {
  dueSubscriptions,
  findCyclePlan,
  lockSubscription,
  writeSubscription,
  type CyclePlan,
  type Subscription,
} from './subscription-store.ts'

const dayMs = 86_400_000
const accountsPerTick = 200
/** How movements name the one who made them where nobody did. */
const itself = 'kinora'

const wallet = 'subscription' as const

/** Begins a cycle: what is left of the one before goes, and the plan's quota comes. */
const startCycle = async (
  database: Database,
  {
    accountId,
    plan,
    startedAt,
    endsAt,
    actor,
  }: {
    accountId: string
    plan: CyclePlan
    startedAt: Date
    endsAt: Date
    actor: string
  },
): Promise<void> => {
  const reference = `cycle:${startedAt.toISOString()}`
  await expire(database, { accountId, wallet, actor, reason: 'Left of the cycle before', reference })
  await beginCycle(database, accountId)
  await grant(database, {
    ...{ accountId, wallet, amountMicros: plan.cycleQuotaMicros, actor, reference },
    reason: `A cycle of the plan '${plan.name}'`,
  })
  await writeSubscription(database, {
    ...{ accountId, planId: plan.id, cycleStartedAt: startedAt, endsAt, isOver: false },
    cycleEndsAt: new Date(startedAt.getTime() + plan.cycleDays * dayMs),
  })
}

/** The end of a subscription: what is left of its last cycle goes. */
const finish = async (database: Database, subscription: Subscription, actor: string): Promise<void> => {
  const { accountId, endsAt } = subscription
  await expire(database, {
    ...{ accountId, wallet, actor, reason: 'Left when the subscription ended' },
    reference: `end:${endsAt.toISOString()}`,
  })
  await beginCycle(database, accountId)
  await writeSubscription(database, { ...subscription, isOver: true })
}

const planOf = ({ planId, planName, cycleQuotaMicros, cycleDays }: Subscription): CyclePlan | undefined =>
  planId === null || planName === null || cycleQuotaMicros === null || cycleDays === null
    ? undefined
    : { id: planId, name: planName, cycleQuotaMicros, cycleDays }

/**
 * Renews the account's cycle where it is over, or ends the subscription where that is; otherwise nothing happens. Of
 * cycles that went by unseen only the one that is now is granted.
 */
export const renewCycle = async (database: Database, accountId: string): Promise<boolean> => {
  const subscription = await lockSubscription(database, accountId)
  if (subscription === undefined || subscription.isOver) return false
  const nowMs = Date.now()
  if (subscription.endsAt.getTime() <= nowMs) {
    await finish(database, subscription, itself)
    return true
  }
  const plan = planOf(subscription)
  const endedMs = subscription.cycleEndsAt.getTime()
  if (plan === undefined || endedMs > nowMs) return false
  const cycleMs = plan.cycleDays * dayMs
  const startedAt = new Date(endedMs + Math.floor((nowMs - endedMs) / cycleMs) * cycleMs)
  await startCycle(database, { accountId, plan, startedAt, endsAt: subscription.endsAt, actor: itself })
  return true
}

/** Renews what is due, as far as no other worker is at it; answers how many there were. */
export const renewCycles = async ({ postgres, log }: { postgres: Postgres; log: Log }): Promise<number> => {
  let renewed = 0
  for (;;) {
    const due = await dueSubscriptions(postgres, accountsPerTick)
    let moved = 0
    for (const accountId of due) {
      try {
        const isRenewed = await postgres.transaction(async (database) => {
          await openWallet(database, accountId, wallet)
          const isMine = await lockWallet(database, accountId, wallet, { waits: false })
          return isMine !== undefined && renewCycle(database, accountId)
        })
        if (isRenewed) moved += 1
      } catch (error) {
        // One that cannot be renewed must not keep the others from it.
        log.error({ err: error, accountId }, 'subscription.not-renewed')
      }
    }
    renewed += moved
    // The rest is being done by others, or cannot be.
    if (due.length < accountsPerTick || moved === 0) return renewed
  }
}

/**
 * Subscribes an account, or changes its subscription. The same plan goes on with its cycle and another end; another
 * plan, or one after the subscription was over, starts a cycle of its own at once.
 */
export const setSubscription = async (
  database: Database,
  { accountId, planId, endsAt, actor }: { accountId: string; planId: string; endsAt: Date; actor: string },
): Promise<Subscription> => {
  const plan = await findCyclePlan(database, planId)
  if (plan === undefined) {
    throw new ApiError('resource_not_found', { param: 'plan_id', message: 'There is no plan with this id.' })
  }
  if (endsAt.getTime() <= Date.now()) {
    throw new ApiError('invalid_parameter', { param: 'ends_at', message: "'ends_at' must be in the future." })
  }
  await openWallet(database, accountId, wallet)
  if ((await lockWallet(database, accountId, wallet)) === undefined) throw new ApiError('resource_not_found')
  const current = await lockSubscription(database, accountId)
  const goesOn =
    current !== undefined &&
    !current.isOver &&
    current.planId === planId &&
    current.endsAt.getTime() > Date.now()
  if (goesOn) await writeSubscription(database, { ...current, endsAt })
  else await startCycle(database, { accountId, plan, startedAt: new Date(), endsAt, actor })
  const subscription = await lockSubscription(database, accountId)
  if (subscription === undefined) throw new Error('a subscription was not written')
  return subscription
}

/** Ends a subscription now; what is left of its cycle goes. */
export const endSubscription = async (
  database: Database,
  { accountId, actor }: { accountId: string; actor: string },
): Promise<Subscription> => {
  await lockWallet(database, accountId, wallet)
  const current = await lockSubscription(database, accountId)
  if (current === undefined || current.isOver) {
    throw new ApiError('resource_not_found', { message: 'The account has no subscription.' })
  }
  const ended = { ...current, endsAt: new Date(Math.min(Date.now(), current.endsAt.getTime())) }
  await finish(database, ended, actor)
  return { ...ended, isOver: true }
}
