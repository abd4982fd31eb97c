/** How much of everything a number of tasks a day needs, by multiplication of what one task costs. */
import { settings } from '../../gateway/src/config.ts'
import { assumed, measured } from './task-costs.ts'

export interface Plan {
  tasksPerDay: number
  perSecond: { average: number; peak: number }
  /** At the peak. */
  inFlight: number
  reads: number
  polls: number
  /** Processors that are busy at the peak. */
  busy: { api: number; worker: number; restate: number; postgres: number }
  apis: number
  workers: number
  /** Of each worker. */
  downloads: number
  /** `RESTATE_WORKER__INVOKER__CONCURRENT_INVOCATIONS_LIMIT`. */
  invocations: number
  /** Connections to PostgreSQL. */
  connections: number
  /** Gbit/s at the peak, each way once: from providers, to the store, to customers. */
  traffic: { in: number; stored: number; out: number }
  /** In GB: results, records and the request log as long as they are kept by default, and what each year adds. */
  stored: { media: number; record: number; log: number; ledgerPerYear: number }
  /** Installations of which each has as many tasks in flight as were measured. */
  cells: number
}

export const scales = [10, 1_000, 100_000, 1_000_000, 100_000_000]
export const largest = 100_000_000

const daySeconds = 86_400
const yearDays = 365
const defaultOf = (
  name: `${'MEDIA' | 'TASK' | 'LOG'}_RETENTION_DAYS` | 'DATABASE_CONNECTIONS' | 'LIMIT_DOWNLOADS',
) => Number(settings[name].default)
/** Polls of loops, and other work of a partition of the engine (docs/operating.md, "Restate"). */
const otherInvocations = 24
/** For notifications, a lock and a probe. */
const furtherConnections = 3
/** More workers than this get only as many downloads as they need, so that Restate keeps its limit of a few hundred. */
const workersWithDefault = 4
const downloadsMin = 32
/** With fewer tasks a day, one machine is enough and may fail. */
const replicatedFrom = 100_000

/** Its create and its status reads. */
const requestsOfTask = 1 + assumed.generationSeconds.value / assumed.readSeconds.value
const resultGb = assumed.resultMegabytes.value / 1_000
const shareOf = (busy: number) => busy / (assumed.busyShare.value / 100)

/** `tasksPerDay` of an installation. `peakFactor` is that of its customers. */
export const planFor = (
  tasksPerDay: number,
  peakFactor: number = tasksPerDay >= largest ? assumed.peakFactorOfMany.value : assumed.peakFactor.value,
): Plan => {
  const average = tasksPerDay / daySeconds
  const peak = average * peakFactor
  const inFlight = peak * assumed.generationSeconds.value
  const reads = inFlight / assumed.readSeconds.value
  const polls = inFlight * measured.pollsPerSecond.value
  const busyWith = (taskMs: number, readMs: number, pollMs: number) =>
    (peak * taskMs + reads * readMs + polls * pollMs) / 1_000
  const mediaMs = measured.mediaOfWorker.value * assumed.resultMegabytes.value
  const busy = {
    api: busyWith(measured.taskOfApi.value, measured.readOfApi.value, 0),
    worker: busyWith(measured.taskOfWorker.value + mediaMs, 0, measured.pollOfWorker.value),
    restate: busyWith(measured.taskOfRestate.value, 0, measured.pollOfRestate.value),
    postgres: busyWith(
      measured.taskOfPostgres.value,
      measured.readOfPostgres.value,
      measured.pollOfPostgres.value,
    ),
  }
  const processesMin = tasksPerDay >= replicatedFrom ? 2 : 1
  const apis = Math.max(processesMin, Math.ceil(shareOf(busy.api)))
  const workers = Math.max(processesMin, Math.ceil(shareOf(busy.worker)))
  const atOnce = peak * assumed.downloadSeconds.value
  const downloads =
    workers <= workersWithDefault
      ? defaultOf('LIMIT_DOWNLOADS')
      : Math.max(downloadsMin, Math.ceil(atOnce / workers))
  const gbits = peak * resultGb * 8
  return {
    ...{ tasksPerDay, perSecond: { average, peak }, inFlight, reads, polls, busy, apis, workers, downloads },
    invocations: downloads * workers + otherInvocations,
    connections: (apis + workers) * (defaultOf('DATABASE_CONNECTIONS') + furtherConnections),
    traffic: { in: gbits, stored: gbits, out: gbits * assumed.downloads.value },
    stored: {
      media: tasksPerDay * resultGb * defaultOf('MEDIA_RETENTION_DAYS'),
      record: (tasksPerDay * measured.recordBytes.value * defaultOf('TASK_RETENTION_DAYS')) / 1e6,
      log:
        (tasksPerDay * requestsOfTask * measured.requestBytes.value * defaultOf('LOG_RETENTION_DAYS')) / 1e6,
      ledgerPerYear: (tasksPerDay * measured.ledgerBytes.value * yearDays) / 1e6,
    },
    cells: Math.max(1, Math.ceil(inFlight / measured.tasksInFlight.value)),
  }
}

/** What one task costs, in USD. */
export const costs = (): { what: string; usd: number; how: string }[] => {
  const monthDays = 30
  const yearMonths = 12
  const hourMs = 3_600_000
  const { objectPrice, trafficPrice, diskPrice, processorPrice, downloads, providerCost } = assumed
  const readsOfTask = assumed.generationSeconds.value / assumed.readSeconds.value
  const pollsOfTask = assumed.generationSeconds.value * measured.pollsPerSecond.value
  const sum = (...facts: { value: number }[]) => facts.reduce((total, { value }) => total + value, 0)
  const { taskOfApi, taskOfWorker, taskOfRestate, taskOfPostgres } = measured
  const taskMs =
    sum(taskOfApi, taskOfWorker, taskOfRestate, taskOfPostgres) +
    readsOfTask * sum(measured.readOfApi, measured.readOfPostgres) +
    pollsOfTask * sum(measured.pollOfWorker, measured.pollOfRestate, measured.pollOfPostgres) +
    measured.mediaOfWorker.value * assumed.resultMegabytes.value
  const mediaDays = defaultOf('MEDIA_RETENTION_DAYS')
  const recordDays = defaultOf('TASK_RETENTION_DAYS')
  const logDays = defaultOf('LOG_RETENTION_DAYS')
  // KB times months, on the disk of the primary and of its standby.
  const logKb = measured.requestBytes.value * requestsOfTask
  const kbMonths =
    2 *
    ((measured.recordBytes.value * recordDays + logKb * logDays) / monthDays +
      measured.ledgerBytes.value * yearMonths)
  return [
    {
      what: 'provider',
      usd: providerCost.value,
      how: 'assumed',
    },
    {
      what: 'traffic to customers',
      usd: resultGb * downloads.value * trafficPrice.value,
      how: `${resultGb} GB × ${downloads.value} × ${trafficPrice.value}`,
    },
    {
      what: `result, stored for ${mediaDays} days`,
      usd: (resultGb * objectPrice.value * mediaDays) / monthDays,
      how: `${resultGb} GB × ${objectPrice.value} × ${mediaDays} / ${monthDays}`,
    },
    {
      what: 'processors, half used',
      usd: (shareOf(taskMs) / hourMs) * processorPrice.value,
      how: `${taskMs.toFixed(0)} ms × ${100 / assumed.busyShare.value} × ${processorPrice.value} / 3,600,000 ms`,
    },
    {
      what: `rows of tasks for ${recordDays} days, request log of ${logDays} days and ledger of a year, on two disks`,
      usd: (kbMonths * diskPrice.value) / 1e6,
      how: `${kbMonths.toFixed(0)} KB months × ${diskPrice.value} / 1,000,000 KB`,
    },
  ]
}
