/** The overview: what is in progress is read each time, what changes slowly less often. */
import { statfs } from 'node:fs/promises'

import type { Overview } from '@kinora/contract/operations/admin/overview'

import type { Database, Postgres } from '../../platform/postgres.ts'
import type { Spend } from '../../provider-budgets/spend-store.ts'
import type { ProviderConfig } from '../../provider-config/config.ts'
import { listProviderRecords } from '../../provider-config/provider-config-store.ts'
import { readTranscriptions, readVideoTasks } from '../../readings/task-readings-store.ts'
import type { VideoReading } from '../../readings/task-readings-store.ts'
import { presentSpend } from '../providers/present-spend.ts'
import { configProblem, type ProviderDependencies } from '../providers/view-providers.ts'
import { secondsOf } from '../unix-time.ts'
import { findWorkerAge, readSlowFacts, type ProviderFacts } from './attention-facts.ts'
import { findAttention } from './find-attention.ts'
import { keepFor } from './keep-for.ts'
import { readProviderCalls } from './provider-minutes-store.ts'
import { fillMinutes } from './provider-minutes.ts'
import { createVideoSeries } from './video-series.ts'
import {
  countRequests,
  readLastHour,
  readNow,
  readStoredMedia,
  readWorkOfToday,
  type EndedWork,
  type RequestCounts,
} from './work-store.ts'

export interface OverviewDependencies extends ProviderDependencies {
  postgres: Postgres
  /** Where uploads are spooled; its disk is usually the first that is full. */
  spoolDirectory: string
  findStorageProblem: () => Promise<string | undefined>
}

const fewSeconds = 10_000
const halfMinute = 30_000
const minute = 60_000
const tenMinutes = 600_000
const statementTimeoutMs = 10_000

const work = (
  { completed, failed }: Pick<EndedWork, 'completed' | 'failed'>,
  { requests, clientErrors, serverErrors }: RequestCounts,
): Overview['today'] => ({
  completed,
  failed,
  error_rate: completed + failed === 0 ? null : failed / (completed + failed),
  requests,
  client_errors: clientErrors,
  server_errors: serverErrors,
})

const noWork: EndedWork = { provider: null, completed: 0, failed: 0, videos: 0, p50Ms: null, p95Ms: null }

const sum = <Item>(items: Item[], read: (item: Item) => number) =>
  items.reduce((total, item) => total + read(item), 0)

/** The load of one provider, or of all. */
const loadOf = (rows: Pick<VideoReading, 'stage' | 'tasks' | 'oldestSeconds'>[]) => {
  const queued = rows.filter(({ stage }) => stage === 'accepted')
  return {
    running: sum(rows, ({ tasks }) => tasks) - sum(queued, ({ tasks }) => tasks),
    queued: sum(queued, ({ tasks }) => tasks),
    oldest_wait_seconds:
      queued.length === 0
        ? null
        : Math.floor(Math.max(0, ...queued.map(({ oldestSeconds }) => oldestSeconds))),
  }
}

type Breaker = Overview['providers'][number]['breaker']

const breakerOf = (name: string, { catalog, router }: OverviewDependencies, now: number) => {
  const unhealthy = router
    .unsteadyAt(name)
    .flatMap(({ model, health }) =>
      health.kind === 'unhealthy' && catalog.isAvailable(model) ? [{ model, ...health }] : [],
    )
  const [worst] = unhealthy.toSorted((a, b) => b.forMs - a.forMs)
  const breaker: Breaker = {
    state: worst === undefined ? 'closed' : worst.forMs > 0 ? 'open' : 'half_open',
    models: unhealthy.map(({ model }) => model),
    reason: worst?.reason ?? null,
    until: worst === undefined ? null : Math.ceil(now + worst.forMs / 1000),
  }
  return { breaker, refusesCredential: unhealthy.some(({ isUnauthorized }) => isUnauthorized) }
}

const budgetFacts = (
  config: ProviderConfig,
  spend: Spend | undefined,
  currency: string,
): ProviderFacts['budget'] => {
  const presented = presentSpend(config, spend, [], currency)
  if (presented === null || config.budget === undefined) return undefined
  return {
    isSpent: presented.state === 'spent',
    isStopped: presented.is_stopped,
    isAlerted: presented.state !== 'within',
    share: (presented.spent_micros + presented.committed_micros) / config.budget.micros,
  }
}

/** Reads the overview. Calls should be shared, because the parts that are kept are not read at the same time. */
export const createReadOverview = (dependencies: OverviewDependencies): (() => Promise<Overview>) => {
  const { postgres, liveConfig, currency, spoolDirectory, findStorageProblem } = dependencies
  const within = <Value>(read: (database: Database) => Promise<Value>) =>
    postgres.transaction(read, { statementTimeoutMs })
  const keep = <Value>(ageMs: number, read: (database: Database) => Promise<Value>) =>
    keepFor(ageMs, () => within(read))

  const readHour = keep(fewSeconds, readLastHour)
  const readCalls = keep(fewSeconds, readProviderCalls)
  const readHourRequests = keep(fewSeconds, (database) => countRequests(database, 'hour'))
  const readSlow = keep(halfMinute, readSlowFacts)
  const readSeries = keep(halfMinute, createVideoSeries())
  const readToday = keep(minute, readWorkOfToday)
  const readTodayRequests = keep(minute, (database) => countRequests(database, 'day'))
  const readMedia = keep(tenMinutes, readStoredMedia)
  const readProblems = keep(halfMinute, async (database) => {
    const records = await listProviderRecords(database)
    return new Map(records.map((record) => [record.name, configProblem(record, dependencies)]))
  })
  const readDisk = keepFor(halfMinute, async () => {
    const { bavail, bsize } = await statfs(spoolDirectory)
    return { freeBytes: bavail * bsize, problem: await findStorageProblem() }
  })

  return async () => {
    const now = await readNow(postgres)
    const videos = await within(readVideoTasks)
    const transcriptions = await within(readTranscriptions)
    const hour = await readHour()
    const calls = Map.groupBy(await readCalls(), ({ provider }) => provider)
    const today = await readToday()
    const spends = await dependencies.readSpend()
    const problems = await readProblems()
    const media = await readMedia()
    const disk = await readDisk()
    const { providers: configs, models } = liveConfig.current()
    const hourOf = (name: string | null) => hour.find(({ provider }) => provider === name) ?? noWork
    const rowsOf = (name: string) => videos.filter(({ provider }) => provider === name)

    const seen = configs
      .toSorted((a, b) => (a.name < b.name ? -1 : 1))
      .map((config) => ({ config, ...breakerOf(config.name, dependencies, now) }))
    const providers = seen.map(({ config: { name, kind, isEnabled, slots }, breaker }) => {
      const { completed, failed, p50Ms, p95Ms } = hourOf(name)
      return {
        ...{ name, kind, enabled: isEnabled, slots, ...loadOf(rowsOf(name)) },
        ...{ completed, failed, p50_ms: p50Ms, p95_ms: p95Ms, breaker },
        minutes: fillMinutes(calls.get(name) ?? [], now),
      }
    })
    const { completed, videos: hourVideos, p50Ms, p95Ms, failed } = hourOf(null)
    const budgets = configs.flatMap(({ budget }) => (budget === undefined ? [] : [budget.micros]))
    const attention = findAttention({
      slow: await readSlow(),
      workerAge: await findWorkerAge(postgres),
      ...{ now, videos, transcriptions, models: Object.values(models) },
      freeBytes: disk.freeBytes,
      storageProblem: disk.problem,
      providers: [
        ...seen.map(({ config, breaker, refusesCredential }) => ({
          name: config.name,
          problem: problems.get(config.name) ?? null,
          refusesCredential,
          openModels: breaker.models,
          reason: breaker.reason,
          budget: budgetFacts(config, spends.get(config.name), currency),
        })),
        ...unusable(problems, configs),
      ],
    })
    return {
      object: 'overview',
      at: now,
      ...loadOf([...videos, ...transcriptions]),
      slots: sum(
        configs.filter(({ isEnabled }) => isEnabled),
        ({ slots }) => slots,
      ),
      last_hour: work({ completed, failed }, await readHourRequests()),
      today: work(today, await readTodayRequests()),
      time_to_video: {
        completed: hourVideos,
        p50_ms: p50Ms,
        p95_ms: p95Ms,
        series: await readSeries(),
      },
      spend: {
        day: today.day,
        charged_micros: today.chargedMicros,
        cost_micros: today.costMicros,
        unknown_costs: today.unknownCosts,
        budget_micros: budgets.length === 0 ? null : sum(budgets, (micros) => micros),
        currency,
      },
      storage:
        media === undefined
          ? null
          : { objects: media.objects, size_bytes: media.sizeBytes, measured_at: secondsOf(media.measuredAt) },
      providers,
      attention,
    }
  }
}

/** Stored providers that are not even in the configuration, because theirs is invalid. */
const unusable = (problems: Map<string, string | null>, configs: ProviderConfig[]): ProviderFacts[] =>
  [...problems].flatMap(([name, problem]) =>
    problem === null || configs.some((config) => config.name === name)
      ? []
      : [{ name, problem, refusesCredential: false, openModels: [], reason: null, budget: undefined }],
  )
