/**
 * Subscriptions and their cycles. At the start of a cycle the rest of the previous one expires and the plan's quota is
 * granted. A hold that is still open then belongs to the old cycle: its released amount expires. The lock order is
 * always wallet, then subscription.
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
/** The actor of automatic movements. */
const systemActor = 'kinora'

const wallet = 'subscription' as const

/** Expires the rest of the previous cycle and grants the plan's quota. */
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
  await expire(database, {
    accountId,
    wallet,
    actor,
    reason: 'Unused quota of the previous cycle',
    reference,
  })
  await beginCycle(database, accountId)
  await grant(database, {
    ...{ accountId, wallet, amountMicros: plan.cycleQuotaMicros, actor, reference },
    reason: `Quota of the plan '${plan.name}'`,
  })
  await writeSubscription(database, {
    ...{ accountId, planId: plan.id, cycleStartedAt: startedAt, endsAt, hasEnded: false },
    cycleEndsAt: new Date(startedAt.getTime() + plan.cycleDays * dayMs),
  })
}

/** Ends a subscription and expires the rest of its last cycle. */
const finish = async (database: Database, subscription: Subscription, actor: string): Promise<void> => {
  const { accountId, endsAt } = subscription
  await expire(database, {
    ...{ accountId, wallet, actor, reason: 'Unused quota at the end of the subscription' },
    reference: `end:${endsAt.toISOString()}`,
  })
  await beginCycle(database, accountId)
  await writeSubscription(database, { ...subscription, hasEnded: true })
}

const planOf = ({ planId, planName, cycleQuotaMicros, cycleDays }: Subscription): CyclePlan | undefined =>
  planId === null || planName === null || cycleQuotaMicros === null || cycleDays === null
    ? undefined
    : { id: planId, name: planName, cycleQuotaMicros, cycleDays }

/**
 * Renews the account's cycle or ends its subscription, if due; returns whether it did. If several cycles have passed,
 * only the current one is granted.
 */
export const renewCycle = async (database: Database, accountId: string): Promise<boolean> => {
  const subscription = await lockSubscription(database, accountId)
  if (subscription === undefined || subscription.hasEnded) return false
  // Not the clock of this process, which could end a subscription too early.
  const { nowMs } = subscription
  if (subscription.endsAt.getTime() <= nowMs) {
    await finish(database, subscription, systemActor)
    return true
  }
  const plan = planOf(subscription)
  const endedMs = subscription.cycleEndsAt.getTime()
  if (plan === undefined || endedMs > nowMs) return false
  const cycleMs = plan.cycleDays * dayMs
  const startedAt = new Date(endedMs + Math.floor((nowMs - endedMs) / cycleMs) * cycleMs)
  await startCycle(database, { accountId, plan, startedAt, endsAt: subscription.endsAt, actor: systemActor })
  return true
}

/** Renews or ends all due subscriptions, except those locked by another worker; returns their number. */
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
        // One failure must not block the other accounts.
        log.error({ err: error, accountId }, 'subscription.not-renewed')
      }
    }
    renewed += moved
    // The rest is locked by other workers or failed.
    if (due.length < accountsPerTick || moved === 0) return renewed
  }
}

/**
 * Subscribes an account or changes its subscription. With the same plan, the current cycle continues and only the end
 * changes. A different plan, or a subscription that has ended, starts a new cycle at once.
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
  const continues =
    current !== undefined &&
    !current.hasEnded &&
    current.planId === planId &&
    current.endsAt.getTime() > Date.now()
  if (continues) await writeSubscription(database, { ...current, endsAt })
  else await startCycle(database, { accountId, plan, startedAt: new Date(), endsAt, actor })
  const subscription = await lockSubscription(database, accountId)
  if (subscription === undefined) throw new Error('The subscription was not stored.')
  return subscription
}

/** Ends the subscription of an account now, if it has one; the rest of its cycle expires. */
export const endAnySubscription = async (
  database: Database,
  { accountId, actor = systemActor }: { accountId: string; actor?: string },
): Promise<Subscription | undefined> => {
  await lockWallet(database, accountId, wallet)
  const current = await lockSubscription(database, accountId)
  if (current === undefined || current.hasEnded) return undefined
  const ended = { ...current, endsAt: new Date(Math.min(Date.now(), current.endsAt.getTime())) }
  await finish(database, ended, actor)
  return { ...ended, hasEnded: true }
}

/** Ends a subscription now; the rest of its cycle expires. */
export const endSubscription = async (
  database: Database,
  given: { accountId: string; actor: string },
): Promise<Subscription> => {
  const ended = await endAnySubscription(database, given)
  if (ended === undefined) {
    throw new ApiError('resource_not_found', { message: 'The account has no subscription.' })
  }
  return ended
}
