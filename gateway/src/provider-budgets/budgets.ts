/**
 * The budgets of providers as a process knows them: the figures of all processes, which one of them counts every two seconds, and
 * the jobs that this one has begun since. They decide where new work goes, so a budget is exceeded by what begins meanwhile.
 */
import type { Log } from '../platform/log.ts'
import type { Postgres } from '../platform/postgres.ts'
import type { LiveConfig, RoutingConfig } from '../provider-config/config.ts'
import { countSpend, readSpend, type DailyBudget, type Spend } from './spend-store.ts'

/** Why a provider gets no new work, for operators, and for how long. */
interface BudgetStop {
  reason: string
  forMs: number
}

export interface Budgets {
  /** Undefined if the provider may get new work. */
  stopAt: (provider: string) => BudgetStop | undefined
  /** Counts a job that has just begun, until the figures have it. */
  add: (provider: string, costMicros: number) => void
  /** What each provider with a budget has cost today, with jobs in flight. */
  spends: () => { provider: string; micros: number; budgetMicros: number }[]
  stop: () => Promise<void>
}

export const budgetSpent = 'its budget of the day is spent'

const everyMs = 2_000

export const dailyBudgetsOf = ({ providers }: Pick<RoutingConfig, 'providers'>): DailyBudget[] =>
  providers.flatMap(({ name: provider, budget }) => (budget === undefined ? [] : { provider, ...budget }))

/** The models of each provider with a budget whose costs there are unknown, so that the budget cannot count them. */
export const modelsWithoutCosts = ({ providers, models }: RoutingConfig): Map<string, string[]> => {
  const found = new Map(
    providers.flatMap(({ name, budget }): [string, string[]][] => (budget === undefined ? [] : [[name, []]])),
  )
  const [first] = providers
  for (const [model, { routes }] of found.size === 0 ? [] : Object.entries(models)) {
    const unknown = (routes ?? [{ provider: '', costs: undefined }]).filter(
      ({ costs }) => costs === undefined,
    )
    const names = new Set(unknown.map(({ provider }) => (provider === '' ? (first?.name ?? '') : provider)))
    for (const name of names) found.get(name)?.push(model)
  }
  return found
}

/** Counts what is older than that, and warns of what is reached for the first time today. */
export const refreshSpend = async (
  { postgres, log }: { postgres: Postgres; log: Log },
  budgets: DailyBudget[],
  ageMsMin: number,
): Promise<Map<string, Spend>> => {
  const names = budgets.map(({ provider }) => provider)
  const known = ageMsMin === 0 ? new Map<string, Spend>() : await readSpend(postgres, names, ageMsMin)
  const due = budgets.filter(({ provider }) => !known.has(provider))
  if (due.length === 0) return known
  const counted = await countSpend(postgres, due, ageMsMin)
  const budgetOf = new Map(budgets.map((budget) => [budget.provider, budget]))
  for (const { isNewlyAlerted, isNewlyExhausted, provider, day, ...spend } of counted) {
    const { micros: budgetMicros, alertMicros, stops } = budgetOf.get(provider) ?? {}
    const { spentMicros, committedMicros } = spend
    const figures = { provider, day, spentMicros, committedMicros, budgetMicros }
    if (isNewlyExhausted) log.warn({ ...figures, stops }, 'provider-budget.spent')
    else if (isNewlyAlerted) log.warn({ ...figures, alertMicros }, 'provider-budget.alert')
    known.set(provider, { provider, day, ...spend })
  }
  // Another process has counted these meanwhile.
  const missing = names.filter((name) => !known.has(name))
  if (missing.length === 0) return known
  return new Map([...known, ...(await readSpend(postgres, missing, everyMs + ageMsMin))])
}

export const createBudgets = async ({
  postgres,
  liveConfig,
  log,
}: {
  postgres: Postgres
  liveConfig: LiveConfig
  log: Log
}): Promise<Budgets> => {
  let budgets = new Map<string, DailyBudget>()
  let known = new Map<string, Spend>()
  let readAtMs = -Infinity
  /** Since the last reading, and before it: what a transaction had not committed by then is not in the figures. */
  let added = { since: new Map<string, number>(), before: new Map<string, number>() }
  let reported = ''
  let reading: Promise<void> | undefined

  const report = (config: RoutingConfig) => {
    const unknown = [...modelsWithoutCosts(config)].filter(([, models]) => models.length > 0)
    const text = JSON.stringify(unknown)
    if (text === reported) return
    reported = text
    for (const [provider, models] of unknown) {
      log.warn({ provider, models }, 'provider-budget.costs-unknown')
    }
  }

  const configure = () => {
    const config = liveConfig.current()
    budgets = new Map(dailyBudgetsOf(config).map((budget) => [budget.provider, budget]))
    report(config)
  }

  const read = async () => {
    if (budgets.size === 0) return
    added = { since: new Map(), before: added.since }
    known = await refreshSpend({ postgres, log }, [...budgets.values()], everyMs)
    readAtMs = performance.now()
  }
  const refresh = () => {
    reading ??= read()
      .catch((error: unknown) => log.warn({ err: error }, 'provider-budget.not-read'))
      .finally(() => {
        reading = undefined
      })
    return reading
  }

  configure()
  await refresh()
  const stopListening = liveConfig.onChange(() => {
    configure()
    void refresh()
  })
  const timer = setInterval(() => void refresh(), everyMs)
  timer.unref()

  return {
    stopAt: (provider) => {
      const budget = budgets.get(provider)
      const spend = known.get(provider)
      if (budget === undefined || spend === undefined || !budget.stops) return undefined
      const forMs = spend.remainingMs - (performance.now() - readAtMs)
      // On the next day nothing is spent. The figures follow within two seconds.
      if (forMs <= 0) return undefined
      const addedMicros = (added.since.get(provider) ?? 0) + (added.before.get(provider) ?? 0)
      const total = spend.spentMicros + spend.committedMicros + addedMicros
      return total < budget.micros ? undefined : { reason: budgetSpent, forMs }
    },
    add: (provider, costMicros) => {
      if (budgets.get(provider)?.stops !== true) return
      added.since.set(provider, (added.since.get(provider) ?? 0) + costMicros)
    },
    spends: () =>
      [...budgets.values()].map(({ provider, micros: budgetMicros }) => {
        const spend = known.get(provider)
        const isOfToday = spend !== undefined && spend.remainingMs > performance.now() - readAtMs
        return { provider, budgetMicros, micros: isOfToday ? spend.spentMicros + spend.committedMicros : 0 }
      }),
    stop: async () => {
      stopListening()
      clearInterval(timer)
      await reading
    },
  }
}
