/**
 * The health of each provider and model. Every process counts the calls it makes. Openings and recoveries are stored in
 * the database, which notifies the other processes. Without the database each process uses its own counts.
 */
import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import type { Stalls } from '../platform/stalls.ts'
import { afterCall, closed, newBreaker, recoveringMs, stateOf, type Breaker } from './breaker.ts'
import { newRamp, noRate, rateAt, startsLeft, withCalls, withStarts, type Ramp, type Rate } from './ramp.ts'
import { afterFirst, afterRetry, newBudget, nextRetryMs, type RetryBudget } from './retry-budget.ts'
import {
  deleteHealthOf,
  deleteOldHealth,
  releaseProbeClaim,
  readHealth,
  recordOpening,
  recordRecovery,
  claimProbe,
  type StoredHealth,
} from './route-health-store.ts'
import { remedyFor, type Permit, type Router } from './route.ts'

const channel = 'route_health'
const readIntervalMs = 10_000
const cleanupIntervalMs = 60_000
/** A probe must report its outcome within this time. */
const probeMs = 30_000
/** The wait while another call probes the provider. */
const probeWaitMs = 1_000

interface RouteHealth {
  provider: string
  model: string
  breaker: Breaker
  /** Whether this process makes the probe, and since when. Calls that began earlier are not the probe. */
  isProbing: boolean
  probingSinceMs: number
  probedUntilMs: number
  /** Work was routed there as a probe and has not called yet. */
  offeredUntilMs: number
  /** Of the successful calls of this process. */
  rate: Rate
  /** Of the starts of all processes, if this one dispatches them. */
  startRate: Rate
  usualPerSecond: number
  ramp: Ramp | undefined
  /** The sequence number of the last change in this process. */
  changed: number
  isUnwritten: boolean
  writing: Promise<void> | undefined
}

export interface Health extends Pick<
  Router,
  'healthOf' | 'unsteadyAt' | 'report' | 'startsAllowed' | 'countStarts' | 'releaseProbe'
> {
  /**
   * If no other route exists, the call is attempted even during the provider's Retry-After window: the provider may
   * accept it after all.
   */
  mayCall: (
    provider: string,
    model: string,
    attempt: 'first' | 'retry',
    rule?: { respectsRetryAfter: boolean },
  ) => Promise<Permit>
  /** Whether work was just routed there as a probe, so that other work can use other routes. */
  isOffered: (provider: string, model: string) => boolean
  noteOffer: (provider: string, model: string) => void
  /** Resets a provider whose credential was changed. */
  reset: (provider: string) => void
  stop: () => Promise<void>
}

export interface HealthDependencies {
  postgres: Postgres
  stalls: Pick<Stalls, 'hasStalledSince'>
  log: Log
}

export const createHealth = async ({ postgres, stalls, log }: HealthDependencies): Promise<Health> => {
  const now = () => performance.now()
  // By provider and model.
  const healths = new Map<string, Map<string, RouteHealth>>()
  const budgets = new Map<string, RetryBudget>()
  let changes = 0
  let cleanedUpAtMs = now()

  const allHealths = () => [...healths.values()].flatMap((models) => [...models.values()])
  const healthsOf = (provider: string) => [...(healths.get(provider)?.values() ?? [])]
  const knownHealth = (provider: string, model: string) => healths.get(provider)?.get(model)
  const healthFor = (provider: string, model: string): RouteHealth => {
    const known = knownHealth(provider, model)
    if (known !== undefined) return known
    const health: RouteHealth = {
      provider,
      model,
      breaker: newBreaker(),
      isProbing: false,
      probingSinceMs: 0,
      probedUntilMs: 0,
      offeredUntilMs: 0,
      rate: noRate,
      startRate: noRate,
      usualPerSecond: 0,
      ramp: undefined,
      changed: 0,
      isUnwritten: false,
      writing: undefined,
    }
    const models = healths.get(provider) ?? new Map<string, RouteHealth>()
    healths.set(provider, models.set(model, health))
    return health
  }

  const write = async (health: RouteHealth): Promise<void> => {
    const { provider, model } = health
    while (health.isUnwritten) {
      health.isUnwritten = false
      const { open, openings } = health.breaker
      try {
        if (open === undefined) await recordRecovery(postgres, provider, model)
        else {
          const { untilMs, ...reason } = open
          await recordOpening(postgres, { provider, model, openForMs: untilMs - now(), openings, ...reason })
        }
        await postgres.notify(channel, '')
      } catch (error) {
        // The next read tries it again.
        health.isUnwritten = true
        log.warn({ err: error, provider, model }, 'health.not-written')
        return
      }
    }
  }

  const writeInBackground = (health: RouteHealth): void => {
    health.isUnwritten = true
    health.writing ??= write(health).finally(() => {
      health.writing = undefined
    })
  }

  /** Sets the breaker, and starts or ends the ramp. */
  const setBreaker = (health: RouteHealth, breaker: Breaker): void => {
    const wasOpen = health.breaker.open !== undefined
    health.breaker = breaker
    if (breaker.open !== undefined) {
      // During a ramp the rate is below the usual one.
      if (!wasOpen && startsLeft(health.ramp, now()) === Infinity) {
        health.usualPerSecond = Math.max(rateAt(health.rate, now()), rateAt(health.startRate, now()))
      }
      health.ramp = undefined
      return
    }
    health.isProbing = false
    health.probedUntilMs = 0
    const { recoveredAtMs } = breaker
    const isBack = wasOpen || health.ramp === undefined
    if (isBack && recoveredAtMs !== undefined && now() - recoveredAtMs < recoveringMs) {
      health.ramp = newRamp(health.usualPerSecond, recoveredAtMs, now())
    }
  }

  const applyStored = (row: StoredHealth): void => {
    const health = healthFor(row.provider, row.model)
    const { breaker } = health
    if (row.recoveredAgoMs === null) {
      const { reason, isUnauthorized } = row
      const open = { untilMs: now() + row.openForMs, reason, isUnauthorized }
      if (!health.isProbing) health.probedUntilMs = Math.max(0, now() + row.probedForMs)
      setBreaker(health, { ...breaker, open, openings: row.openings })
      return
    }
    const recoveredAtMs = now() - row.recoveredAgoMs
    if (breaker.open !== undefined) setBreaker(health, closed(breaker, recoveredAtMs))
    else if (breaker.recoveredAtMs === undefined && row.recoveredAgoMs < recoveringMs) {
      setBreaker(health, { ...breaker, openings: row.openings, recoveredAtMs })
    }
  }

  const read = async (): Promise<void> => {
    for (const health of allHealths()) if (health.isUnwritten) writeInBackground(health)
    const seen = changes
    const rows = await readHealth(postgres)
    const isSettled = (health: RouteHealth) =>
      !health.isUnwritten && health.writing === undefined && health.changed <= seen
    const stored = new Set<RouteHealth>()
    for (const row of rows) {
      const health = healthFor(row.provider, row.model)
      stored.add(health)
      if (isSettled(health)) applyStored(row)
    }
    for (const health of allHealths()) {
      const isDeleted = health.breaker.open !== undefined && !stored.has(health) && isSettled(health)
      if (isDeleted) setBreaker(health, closed(health.breaker, undefined))
    }
    if (now() - cleanedUpAtMs < cleanupIntervalMs) return
    cleanedUpAtMs = now()
    await deleteOldHealth(postgres)
  }
  const readInBackground = () => {
    read().catch((error: unknown) => log.warn({ err: error }, 'health.not-read'))
  }

  // Listen before reading, so that no change in between is missed.
  const listening = await postgres.listen(channel, readInBackground)
  await read()
  const timer = setInterval(readInBackground, readIntervalMs)
  timer.unref()

  const budgetOf = (provider: string) => budgets.get(provider) ?? newBudget(now())

  /** All models share the key, so a refused credential is logged once per provider. */
  const isUnauthorizedAt = (provider: string) =>
    healthsOf(provider).some(({ breaker }) => breaker.open?.isUnauthorized === true)

  /** A probe is under way in this or another process. */
  const isProbed = ({ probedUntilMs }: RouteHealth) => probedUntilMs > now()

  const probe = async (health: RouteHealth): Promise<boolean> => {
    if (isProbed(health)) return false
    // Set before the query, so that no other call of this process probes meanwhile.
    health.isProbing = true
    health.probingSinceMs = now()
    health.probedUntilMs = now() + probeMs
    try {
      if (await claimProbe(postgres, health.provider, health.model, probeMs)) return true
    } catch (error) {
      log.warn({ err: error, provider: health.provider, model: health.model }, 'probe.not-shared')
      return true
    }
    health.isProbing = false
    health.probedUntilMs = now() + probeWaitMs
    readInBackground()
    return false
  }

  const releaseProbe: Health['releaseProbe'] = (provider, model) => {
    const health = healthFor(provider, model)
    if (!health.isProbing) return
    health.isProbing = false
    // Other calls of this process may probe only once the stored claim is released.
    releaseProbeClaim(postgres, provider, model)
      .then(() => postgres.notify(channel, ''))
      .catch((error: unknown) => log.warn({ err: error, provider, model }, 'probe.not-released'))
      .finally(() => {
        if (!health.isProbing) health.probedUntilMs = 0
      })
  }

  const healthOf: Health['healthOf'] = (provider, model) => {
    const health = knownHealth(provider, model)
    if (health === undefined) return { kind: 'healthy' }
    const { kind, reason, forMs: leftMs } = stateOf(health.breaker, now())
    if (kind === 'closed') return { kind: 'healthy' }
    const isUnauthorized = health.breaker.open?.isUnauthorized === true
    if (kind !== 'half-open') return { kind: 'unhealthy', reason, forMs: leftMs, isUnauthorized }
    if (!isProbed(health)) return { kind: 'unhealthy', reason, forMs: 0, isUnauthorized }
    const forMs = Math.min(health.probedUntilMs - now(), probeWaitMs)
    return { kind: 'unhealthy', reason: 'being probed', forMs, isUnauthorized }
  }

  return {
    releaseProbe,
    healthOf,
    unsteadyAt: (provider) =>
      healthsOf(provider).flatMap(({ model, ramp }) => {
        const [health, startsAllowed] = [healthOf(provider, model), startsLeft(ramp, now())]
        return health.kind === 'healthy' && startsAllowed === Infinity ? [] : { model, health, startsAllowed }
      }),
    isOffered: (provider, model) => healthFor(provider, model).offeredUntilMs > now(),
    noteOffer: (provider, model) => {
      healthFor(provider, model).offeredUntilMs = now() + probeWaitMs
    },
    mayCall: async (provider, model, attempt, { respectsRetryAfter } = { respectsRetryAfter: true }) => {
      const health = healthFor(provider, model)
      const { kind, reason, forMs } = stateOf(health.breaker, now())
      const isUnauthorized = health.breaker.open?.isUnauthorized === true
      if (kind === 'open' || (kind === 'waiting' && respectsRetryAfter)) {
        return { kind: 'no', reason, retryAfterMs: forMs, isUnauthorized }
      }
      if (attempt === 'retry' && afterRetry(budgetOf(provider), now()) === undefined) {
        const retryAfterMs = nextRetryMs(budgetOf(provider), now())
        const exhausted = 'its retry budget is used up'
        return { kind: 'no', reason: exhausted, retryAfterMs, isUnauthorized }
      }
      const isProbe = kind === 'half-open'
      if (isProbe && !(await probe(health))) {
        return { kind: 'no', reason: 'being probed', retryAfterMs: probeWaitMs, isUnauthorized }
      }
      const before = budgetOf(provider)
      const left = attempt === 'first' ? afterFirst(before, now()) : afterRetry(before, now())
      budgets.set(provider, left ?? before)
      return { kind: 'yes', isProbe }
    },
    report: (provider, model, outcome, { retryAfterMs, startedMs = now(), isLocal = false } = {}) => {
      const hasResponse = outcome !== 'not_delivered' && outcome !== 'unknown'
      const health = healthFor(provider, model)
      const isProbe = health.isProbing && startedMs >= health.probingSinceMs
      if (isLocal || (!hasResponse && stalls.hasStalledSince(startedMs))) {
        if (isProbe) releaseProbe(provider, model)
        return
      }
      const before = health.breaker
      if (outcome === 'ok') health.rate = withCalls(health.rate, 1, now())
      const after = afterCall(before, { outcome, retryAfterMs, isProbe, startedMs }, now())
      if (isProbe) {
        health.isProbing = false
        health.probedUntilMs = 0
      }
      if (before.open === after.open) {
        setBreaker(health, after)
        return
      }
      const wasUnauthorized = isUnauthorizedAt(provider)
      setBreaker(health, after)
      changes += 1
      health.changed = changes
      if (after.open === undefined) log.info({ provider, model }, 'route.recovered')
      else if (!after.open.isUnauthorized) {
        log.warn({ provider, model, reason: after.open.reason, openings: after.openings }, 'route.unhealthy')
      } else if (!wasUnauthorized) {
        log.error({ provider, model, remedy: remedyFor(provider) }, 'provider.credential-refused')
      }
      writeInBackground(health)
    },
    reset: (provider) => {
      const known = healthsOf(provider).filter(({ breaker }) => breaker.open !== undefined)
      changes += 1
      for (const health of known) {
        setBreaker(health, closed(health.breaker, undefined))
        health.changed = changes
        health.isUnwritten = false
      }
      // Pending writes must finish before the deletion.
      const deleting = Promise.all(known.flatMap(({ writing }) => writing ?? []))
        .then(() => deleteHealthOf(postgres, provider))
        .then(
          () => undefined,
          (error: unknown) => log.warn({ err: error, provider }, 'health.not-written'),
        )
      for (const health of known) {
        // Until the rows are deleted, a read must not restore them.
        health.writing = deleting.finally(() => {
          health.writing = undefined
        })
      }
    },
    startsAllowed: (provider, model) => startsLeft(knownHealth(provider, model)?.ramp, now()),
    countStarts: (provider, model, count) => {
      const health = healthFor(provider, model)
      health.ramp = withStarts(health.ramp, count, now())
      if (count > 0) health.startRate = withCalls(health.startRate, count, now())
    },
    stop: async () => {
      clearInterval(timer)
      await listening.stop()
      await Promise.all(allHealths().flatMap(({ writing }) => writing ?? []))
    },
  }
}
