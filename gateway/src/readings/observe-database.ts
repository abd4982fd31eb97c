/**
 * The metrics that are read from the database: queues, holds, the last audit. A worker reads them on a timer and not for each
 * scrape, so their cost does not depend on who scrapes how often. Without metrics nothing is read.
 */
import { readAudit } from '../billing/ledger/ledger-audit-store.ts'
import { readFeedDelay } from '../event-feed/event-feed-store.ts'
import { findJobAge } from '../platform/engine/tick-store.ts'
import type { Log } from '../platform/log.ts'
import { isMeasured, observe, secondsSince, type Observed } from '../platform/metrics/metrics.ts'
import type { Database } from '../platform/postgres.ts'
import { readOldestHolds, readWallets, type OldestHolds, type WalletReading } from './money-readings-store.ts'
import { readSecretAges, type SecretAges } from './secret-readings-store.ts'
import {
  countRemovals,
  readTranscriptions,
  readVideoTasks,
  type TaskReading,
  type VideoReading,
} from './task-readings-store.ts'

const tasksEveryMs = 15_000
/** Sums over all balances. */
const moneyEveryMs = 60_000
const microsPerUnit = 1_000_000
/** Readings that take long, because there are many open tasks, are made less often: every worker makes them. */
const restFactor = 20
/** What could not be read anew for so long is absent. */
const oldSeconds = 300

interface TaskReadings {
  videos: VideoReading[]
  transcriptions: TaskReading[]
  removals: { files: number; jobs: number }
  comparisonAge: number | undefined
  feedDelay: number
  readAtMs: number
}

interface MoneyReadings {
  wallets: WalletReading[]
  oldest: OldestHolds
  audit: Awaited<ReturnType<typeof readAudit>>
  secrets: SecretAges
  readAtMs: number
}

const readTasks = async (database: Database): Promise<TaskReadings> => ({
  readAtMs: performance.now(),
  videos: await readVideoTasks(database),
  transcriptions: await readTranscriptions(database),
  removals: await countRemovals(database),
  comparisonAge: await findJobAge(database, 'engine', 'check'),
  feedDelay: await readFeedDelay(database),
})

const readMoney = async (database: Database): Promise<MoneyReadings> => ({
  readAtMs: performance.now(),
  wallets: await readWallets(database),
  oldest: await readOldestHolds(database),
  audit: await readAudit(database),
  secrets: await readSecretAges(database),
})

const videoStages = ['starting', 'submitting', 'waiting', 'storing'] as const
const transcriptionStages = ['starting', 'working'] as const
const wallets = ['payg', 'subscription'] as const
const owners = ['video', 'transcription', 'request'] as const

const sum = <Item>(items: Item[], read: (item: Item) => number) =>
  items.reduce((total, item) => total + read(item), 0)
const greatest = <Item>(items: Item[], read: (item: Item) => number) => Math.max(0, ...items.map(read))

/** The configured providers, and others that still have tasks. */
const byProvider = (
  { videos }: TaskReadings,
  configured: string[],
): { name: string; rows: VideoReading[] }[] => {
  const names = new Set([...configured, ...videos.map(({ provider }) => provider)])
  return [...names].map((name) => ({ name, rows: videos.filter(({ provider }) => provider === name) }))
}

const ageOf = (
  secret: 'operator_key' | 'provider_credentials',
  seconds: number | null,
  sinceRead: number,
): Observed<'kinora.secret.age'>[] => (seconds === null ? [] : [[seconds + sinceRead, { secret }]])

const kind = 'video'
const isQueued = ({ stage }: TaskReading) => stage === 'accepted'

export interface DatabaseReadings {
  /** Reads everything now. */
  read: () => Promise<void>
  stop: () => void
}

export const observeDatabase = (
  { postgres, log }: { postgres: Database; log: Log },
  providerNames: () => string[],
): DatabaseReadings => {
  let tasks: TaskReadings | undefined
  let money: MoneyReadings | undefined

  const ofProviders =
    <Name extends Parameters<typeof observe>[0]>(
      read: (name: string, rows: VideoReading[]) => Observed<Name>[],
    ) =>
    (): Observed<Name>[] =>
      tasks === undefined
        ? []
        : byProvider(tasks, providerNames()).flatMap(({ name, rows }) => read(name, rows))
  const ofTranscriptions = (): TaskReading[] => tasks?.transcriptions ?? []
  const transcription = { kind: 'transcription', 'gen_ai.provider.name': undefined } as const

  const videoQueue = ofProviders<'kinora.tasks.queued'>((name, rows) => [
    [sum(rows.filter(isQueued), (row) => row.tasks), { kind, 'gen_ai.provider.name': name }],
  ])
  const videoWait = ofProviders<'kinora.tasks.oldest_wait'>((name, rows) => [
    [greatest(rows.filter(isQueued), (row) => row.oldestSeconds), { kind, 'gen_ai.provider.name': name }],
  ])
  const videosInFlight = ofProviders<'kinora.tasks.in_flight'>((name, rows) =>
    videoStages.map((stage) => [
      sum(
        rows.filter((row) => row.stage === stage),
        (row) => row.tasks,
      ),
      { kind, 'gen_ai.provider.name': name, stage },
    ]),
  )
  const stops = [
    observe('kinora.tasks.queued', () => {
      if (tasks === undefined) return []
      const waiting = ofTranscriptions().filter(isQueued)
      return [...videoQueue(), [sum(waiting, (row) => row.tasks), transcription]]
    }),
    observe('kinora.tasks.oldest_wait', () => {
      if (tasks === undefined) return []
      const waiting = ofTranscriptions().filter(isQueued)
      return [...videoWait(), [greatest(waiting, (row) => row.oldestSeconds), transcription]]
    }),
    observe('kinora.tasks.in_flight', () => {
      if (tasks === undefined) return []
      const ofStage = (stage: TaskReading['stage']) =>
        sum(
          ofTranscriptions().filter((row) => row.stage === stage),
          (row) => row.tasks,
        )
      return [
        ...videosInFlight(),
        ...transcriptionStages.map((stage): Observed<'kinora.tasks.in_flight'> => [
          ofStage(stage),
          { ...transcription, stage },
        ]),
      ]
    }),
    observe('kinora.tasks.past_deadline', () => {
      if (tasks === undefined) return []
      return [
        [sum(tasks.videos, (row) => row.pastDeadline), { kind }],
        [sum(tasks.transcriptions, (row) => row.pastDeadline), { kind: 'transcription' }],
      ]
    }),
    observe(
      'kinora.tasks.polls_overdue',
      ofProviders((name, rows) => [[sum(rows, (row) => row.pollsOverdue), { 'gen_ai.provider.name': name }]]),
    ),
    observe(
      'kinora.tasks.poll_lateness',
      ofProviders((name, rows) => [
        [greatest(rows, (row) => row.pollLateSeconds), { 'gen_ai.provider.name': name }],
      ]),
    ),
    observe(
      'kinora.tasks.submits_unknown',
      ofProviders((name, rows) => [
        [sum(rows, (row) => row.submitsUnknown), { 'gen_ai.provider.name': name }],
      ]),
    ),
    observe(
      'kinora.provider.slots.used',
      ofProviders((name, rows) => [
        [
          sum(
            rows.filter((row) => !isQueued(row)),
            (row) => row.tasks,
          ),
          { 'gen_ai.provider.name': name, slot: 'task' },
        ],
      ]),
    ),
    observe('kinora.storage.removals.waiting', () =>
      tasks === undefined
        ? []
        : [
            [tasks.removals.files, { of: 'file' }],
            [tasks.removals.jobs, { of: 'job' }],
          ],
    ),
    observe('kinora.engine.comparison.age', () =>
      tasks?.comparisonAge === undefined ? [] : [[tasks.comparisonAge + secondsSince(tasks.readAtMs), {}]],
    ),
    observe('kinora.events.delay', () => (tasks === undefined ? [] : [[tasks.feedDelay, {}]])),
    observe('kinora.money.held', () => ofWallets(({ heldMicros }) => heldMicros)),
    observe('kinora.money.available', () => ofWallets(({ availableMicros }) => availableMicros)),
    observe('kinora.money.oldest_hold', () => {
      if (money === undefined) return []
      const { oldest } = money
      return owners.map((owner) => [oldest[owner] ?? 0, { owner }])
    }),
    observe('kinora.ledger.difference', () =>
      money === undefined
        ? []
        : [[sum(money.wallets, (each) => each.heldMicros - each.openMicros) / microsPerUnit, {}]],
    ),
    observe('kinora.ledger.violations', () =>
      (money?.audit?.findings ?? []).map(({ invariant, violations }) => [violations, { invariant }]),
    ),
    observe('kinora.ledger.audit.age', () => {
      if (money?.audit === undefined) return []
      const { checkedAgoMs, fullAuditAgoMs } = money.audit
      const sinceRead = secondsSince(money.readAtMs)
      return [
        [checkedAgoMs / 1000 + sinceRead, { scope: 'recent' }],
        [fullAuditAgoMs / 1000 + sinceRead, { scope: 'full' }],
      ]
    }),
    observe('kinora.secret.age', () => {
      if (money === undefined) return []
      const { operatorKey, providerCredentials } = money.secrets
      const sinceRead = secondsSince(money.readAtMs)
      return [
        ...ageOf('operator_key', operatorKey, sinceRead),
        ...ageOf('provider_credentials', providerCredentials, sinceRead),
      ]
    }),
    observe('kinora.database.readings.age', () =>
      tasks === undefined ? [] : [[secondsSince(tasks.readAtMs), {}]],
    ),
  ]

  function ofWallets(micros: (reading: WalletReading) => number): Observed<'kinora.money.held'>[] {
    if (money === undefined) return []
    const { wallets: found } = money
    return wallets.map((wallet) => {
      const reading = found.find((each) => each.wallet === wallet)
      return [reading === undefined ? 0 : micros(reading) / microsPerUnit, { wallet }]
    })
  }

  const refreshTasks = async () => {
    tasks = await readTasks(postgres)
  }
  const refreshMoney = async () => {
    money = await readMoney(postgres)
  }
  /** An alert must not see a ledger that was right an hour ago. */
  const dropOld = () => {
    if (tasks !== undefined && secondsSince(tasks.readAtMs) > oldSeconds) tasks = undefined
    if (money !== undefined && secondsSince(money.readAtMs) > oldSeconds) money = undefined
  }
  let isStopped = false
  const timers = [
    { everyMs: tasksEveryMs, refresh: refreshTasks },
    { everyMs: moneyEveryMs, refresh: refreshMoney },
  ].map(({ everyMs, refresh }) => {
    let isReading = false
    let notBeforeMs = 0
    const refreshNow = () => {
      const startedMs = performance.now()
      if (isReading || isStopped || startedMs < notBeforeMs || !isMeasured()) return
      isReading = true
      refresh()
        .catch((error: unknown) => {
          log.warn({ err: error }, 'metrics.not-read')
          dropOld()
        })
        .finally(() => {
          isReading = false
          const endedMs = performance.now()
          notBeforeMs = endedMs + restFactor * (endedMs - startedMs)
        })
    }
    refreshNow()
    return setInterval(refreshNow, everyMs).unref()
  })
  return {
    read: async () => {
      await refreshTasks()
      await refreshMoney()
    },
    stop: () => {
      isStopped = true
      for (const timer of timers) clearInterval(timer)
      for (const stop of stops) stop()
    },
  }
}
