/**
 * How providers do with each model. Every process counts what it sees for itself; that one is found unhealthy, or well
 * again, goes on record and is told to the others at once. With the record away, each process knows what it knows.
 */
import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import { afterCall, closed, newBreaker, recoveringMs, standingOf, type Breaker } from './breaker.ts'
import { newRamp, noRate, rateAt, startsLeft, withCall, withStarts, type Ramp, type Rate } from './ramp.ts'
import { afterFirst, afterRetry, newBudget, nextRetryMs, type RetryBudget } from './retry-budget.ts'
import {
  forgetHealthOf,
  forgetOldHealth,
  giveProbeBack,
  readHealth,
  recordOpening,
  recordRecovery,
  takeProbe,
  type RecordedHealth,
} from './route-health-store.ts'
import { remedyFor, type Leave, type Router } from './route.ts'

const channel = 'route_health'
const lookEveryMs = 10_000
const forgetEveryMs = 60_000
/** Who tries an unhealthy provider has so long to say what came of it. */
const probeMs = 30_000
/** Somebody else is trying it, or is about to; then it is looked at again. */
const probeElsewhereMs = 1_000

/** What is known of one provider's way with one model. */
interface Entry {
  provider: string
  model: string
  breaker: Breaker
  /** This process is the one that tries it. */
  isProbing: boolean
  probedUntilMs: number
  /** Some work was sent its way to try it, and will ask for leave. */
  offeredUntilMs: number
  rate: Rate
  usualPerSecond: number
  ramp: Ramp | undefined
  /** When it changed here last, as a number that only grows. */
  changed: number
  isUnwritten: boolean
  writing: Promise<void> | undefined
}

export interface Health extends Pick<
  Router,
  'healthOf' | 'report' | 'startsAllowed' | 'noteStarts' | 'letGo'
> {
  /**
   * Who asks for leave and has no other to ask may call although the provider asked for a pause: it knows best whether
   * it takes this one.
   */
  mayCall: (
    provider: string,
    model: string,
    attempt: 'first' | 'retry',
    rule?: { heedsPauses: boolean },
  ) => Promise<Leave>
  /** Whether some work was sent its way to try it a moment ago, so that no other that can go elsewhere need be. */
  isOffered: (provider: string, model: string) => boolean
  noteOffer: (provider: string, model: string) => void
  /** Forgets what is known against a provider whose credential was changed. */
  forget: (provider: string) => void
  stop: () => Promise<void>
}

export const createHealth = async (
  { postgres, log }: { postgres: Postgres; log: Log },
  now: () => number = Date.now,
): Promise<Health> => {
  const entries = new Map<string, Entry>()
  const budgets = new Map<string, RetryBudget>()
  let changes = 0
  let forgottenAtMs = now()

  const keyOf = (provider: string, model: string) => JSON.stringify([provider, model])
  const entryOf = (provider: string, model: string): Entry => {
    const key = keyOf(provider, model)
    const known = entries.get(key)
    if (known !== undefined) return known
    const entry: Entry = {
      provider,
      model,
      breaker: newBreaker(),
      isProbing: false,
      probedUntilMs: 0,
      offeredUntilMs: 0,
      rate: noRate,
      usualPerSecond: 0,
      ramp: undefined,
      changed: 0,
      isUnwritten: false,
      writing: undefined,
    }
    entries.set(key, entry)
    return entry
  }

  const entriesOf = (provider: string) => [...entries.values()].filter((entry) => entry.provider === provider)

  const write = async (entry: Entry): Promise<void> => {
    const { provider, model } = entry
    while (entry.isUnwritten) {
      entry.isUnwritten = false
      const { open, openings } = entry.breaker
      try {
        if (open === undefined) await recordRecovery(postgres, provider, model)
        else {
          const { untilMs, ...reason } = open
          await recordOpening(postgres, { provider, model, openForMs: untilMs - now(), openings, ...reason })
        }
        await postgres.notify(channel, '')
      } catch (error) {
        // It is tried again with the next look.
        entry.isUnwritten = true
        log.warn({ err: error, provider, model }, 'health.not-written')
        return
      }
    }
  }

  const writeSoon = (entry: Entry): void => {
    entry.isUnwritten = true
    entry.writing ??= write(entry).finally(() => {
      entry.writing = undefined
    })
  }

  /** Takes up a new state, and what follows from it for the way back. */
  const become = (entry: Entry, breaker: Breaker): void => {
    const wasOpen = entry.breaker.open !== undefined
    entry.breaker = breaker
    if (breaker.open !== undefined) {
      // One that fails again on its way back has not been at its usual rate since.
      if (!wasOpen && startsLeft(entry.ramp, now()) === Infinity) {
        entry.usualPerSecond = rateAt(entry.rate, now())
      }
      entry.ramp = undefined
      return
    }
    entry.isProbing = false
    entry.probedUntilMs = 0
    const { recoveredAtMs } = breaker
    const isBack = wasOpen || entry.ramp === undefined
    if (isBack && recoveredAtMs !== undefined && now() - recoveredAtMs < recoveringMs) {
      entry.ramp = newRamp(entry.usualPerSecond, recoveredAtMs, now())
    }
  }

  const takeOver = (row: RecordedHealth): void => {
    const entry = entryOf(row.provider, row.model)
    const { breaker } = entry
    if (row.recoveredAgoMs === null) {
      const { reason, isUnauthorized } = row
      const open = { untilMs: now() + row.openForMs, reason, isUnauthorized }
      if (!entry.isProbing) entry.probedUntilMs = Math.max(0, now() + row.probedForMs)
      become(entry, { ...breaker, open, openings: row.openings })
      return
    }
    const recoveredAtMs = now() - row.recoveredAgoMs
    if (breaker.open !== undefined) become(entry, closed(breaker, recoveredAtMs))
    else if (breaker.recoveredAtMs === undefined && row.recoveredAgoMs < recoveringMs) {
      become(entry, { ...breaker, openings: row.openings, recoveredAtMs })
    }
  }

  const look = async (): Promise<void> => {
    for (const entry of entries.values()) if (entry.isUnwritten) writeSoon(entry)
    const seen = changes
    const rows = await readHealth(postgres)
    const isSettled = (entry: Entry | undefined) =>
      entry === undefined || (!entry.isUnwritten && entry.writing === undefined && entry.changed <= seen)
    const onRecord = new Set<string>()
    for (const row of rows) {
      const key = keyOf(row.provider, row.model)
      onRecord.add(key)
      if (isSettled(entries.get(key))) takeOver(row)
    }
    for (const [key, entry] of entries) {
      const isForgotten = entry.breaker.open !== undefined && !onRecord.has(key) && isSettled(entry)
      if (isForgotten) become(entry, closed(entry.breaker, undefined))
    }
    if (now() - forgottenAtMs < forgetEveryMs) return
    forgottenAtMs = now()
    await forgetOldHealth(postgres)
  }
  const lookSoon = () => {
    look().catch((error: unknown) => log.warn({ err: error }, 'health.not-read'))
  }

  // First the ear, then the look: a change in between is heard.
  const listening = await postgres.listen(channel, lookSoon)
  await look()
  const timer = setInterval(lookSoon, lookEveryMs)
  timer.unref()

  const budgetOf = (provider: string) => budgets.get(provider) ?? newBudget(now())

  /** One key opens all models, so it was told of already where another model has it. */
  const refusesUs = (provider: string) =>
    entriesOf(provider).some(({ breaker }) => breaker.open?.isUnauthorized === true)

  /** Somebody tries it already, here or elsewhere. */
  const isTried = ({ probedUntilMs }: Entry) => probedUntilMs > now()

  const probe = async (entry: Entry): Promise<boolean> => {
    if (isTried(entry)) return false
    // Taken here at once, so that no other call of this process comes in between.
    entry.isProbing = true
    entry.probedUntilMs = now() + probeMs
    try {
      if (await takeProbe(postgres, entry.provider, entry.model, probeMs)) return true
    } catch (error) {
      log.warn({ err: error, provider: entry.provider, model: entry.model }, 'probe.not-shared')
      return true
    }
    entry.isProbing = false
    entry.probedUntilMs = now() + probeElsewhereMs
    lookSoon()
    return false
  }

  const letGo: Health['letGo'] = (provider, model) => {
    const entry = entryOf(provider, model)
    if (!entry.isProbing) return
    entry.isProbing = false
    // Free once the record says so, and everybody is told: until then a look would only find it taken.
    giveProbeBack(postgres, provider, model)
      .then(() => postgres.notify(channel, ''))
      .catch((error: unknown) => log.warn({ err: error, provider, model }, 'probe.not-released'))
      .finally(() => {
        if (!entry.isProbing) entry.probedUntilMs = 0
      })
  }

  return {
    letGo,
    healthOf: (provider, model) => {
      const entry = entries.get(keyOf(provider, model))
      if (entry === undefined) return { kind: 'well' }
      const { kind, reason, forMs: leftMs } = standingOf(entry.breaker, now())
      if (kind === 'closed') return { kind: 'well' }
      const isUnauthorized = entry.breaker.open?.isUnauthorized === true
      if (kind !== 'half open') return { kind: 'unhealthy', reason, forMs: leftMs, isUnauthorized }
      if (!isTried(entry)) return { kind: 'unhealthy', reason, forMs: 0, isUnauthorized }
      const forMs = Math.min(entry.probedUntilMs - now(), probeElsewhereMs)
      return { kind: 'unhealthy', reason: 'being tried again', forMs, isUnauthorized }
    },
    isOffered: (provider, model) => entryOf(provider, model).offeredUntilMs > now(),
    noteOffer: (provider, model) => {
      entryOf(provider, model).offeredUntilMs = now() + probeElsewhereMs
    },
    mayCall: async (provider, model, attempt, { heedsPauses } = { heedsPauses: true }) => {
      const entry = entryOf(provider, model)
      const { kind, reason, forMs } = standingOf(entry.breaker, now())
      const isUnauthorized = entry.breaker.open?.isUnauthorized === true
      if (kind === 'open' || (kind === 'waiting' && heedsPauses)) {
        return { kind: 'no', reason, retryAfterMs: forMs, isUnauthorized }
      }
      if (attempt === 'retry' && afterRetry(budgetOf(provider), now()) === undefined) {
        const retryAfterMs = nextRetryMs(budgetOf(provider), now())
        const tooMany = 'too much is being repeated there already'
        return { kind: 'no', reason: tooMany, retryAfterMs, isUnauthorized }
      }
      const isProbe = kind === 'half open'
      if (isProbe && !(await probe(entry))) {
        return { kind: 'no', reason: 'being tried again', retryAfterMs: probeElsewhereMs, isUnauthorized }
      }
      const before = budgetOf(provider)
      const left = attempt === 'first' ? afterFirst(before, now()) : afterRetry(before, now())
      budgets.set(provider, left ?? before)
      return { kind: 'yes', isProbe }
    },
    report: (provider, model, outcome, retryAfterMs) => {
      const entry = entryOf(provider, model)
      const before = entry.breaker
      const refusedBefore = refusesUs(provider)
      if (outcome === 'ok') entry.rate = withCall(entry.rate, now())
      const after = afterCall(before, { outcome, retryAfterMs, isProbe: entry.isProbing }, now())
      if (entry.isProbing) {
        entry.isProbing = false
        entry.probedUntilMs = 0
      }
      become(entry, after)
      if (before.open === after.open) return
      changes += 1
      entry.changed = changes
      if (after.open === undefined) log.info({ provider, model }, 'route.recovered')
      else if (!after.open.isUnauthorized) {
        log.warn({ provider, model, reason: after.open.reason, openings: after.openings }, 'route.unhealthy')
      } else if (!refusedBefore) {
        log.error({ provider, model, remedy: remedyFor(provider) }, 'provider.credential-refused')
      }
      writeSoon(entry)
    },
    forget: (provider) => {
      const known = entriesOf(provider).filter(({ breaker }) => breaker.open !== undefined)
      changes += 1
      for (const entry of known) {
        become(entry, closed(entry.breaker, undefined))
        entry.changed = changes
        entry.isUnwritten = false
      }
      // What is being written must not come after it.
      const forgetting = Promise.all(known.flatMap(({ writing }) => writing ?? []))
        .then(() => forgetHealthOf(postgres, provider))
        .then(
          () => undefined,
          (error: unknown) => log.warn({ err: error, provider }, 'health.not-written'),
        )
      for (const entry of known) {
        // Until it is forgotten on record as well, a look must not bring it back.
        entry.writing = forgetting.finally(() => {
          entry.writing = undefined
        })
      }
    },
    startsAllowed: (provider, model) => startsLeft(entries.get(keyOf(provider, model))?.ramp, now()),
    noteStarts: (provider, model, count) => {
      const entry = entries.get(keyOf(provider, model))
      if (entry !== undefined) entry.ramp = withStarts(entry.ramp, count, now())
    },
    stop: async () => {
      clearInterval(timer)
      await listening.stop()
      await Promise.all([...entries.values()].flatMap(({ writing }) => writing ?? []))
    },
  }
}
