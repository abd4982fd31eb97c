import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
/**
 * Prometheus scrapes a running system under load, and every metric appears, and every query of the dashboards and rules returns
 * series. `npm run prove:observability`.
 */
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { folder, ruleFiles } from '../../../tools/observability/read-rules.ts'
import { prometheusLabelOf, prometheusNameOf, type MetricRow } from '../../src/platform/metrics/metric-row.ts'
import { metricTable } from '../../src/platform/metrics/metric-table.ts'
import { reservePorts } from '../kit/reserve-ports.ts'
import { manyRequests, startStack, type Stack } from '../kit/stack.ts'
import { minutes, seconds } from '../kit/time-limits.ts'
import { startCertifiedServer } from './certified-server.ts'
import { dashboardQueries, dashboardVariables, ruleQueries, type ExpectedQuery } from './expected-queries.ts'
import { models, startLoad, type Load } from './load.ts'
import { startPrometheus, type Prometheus } from './prometheus.ts'

declare module 'vitest' {
  interface TaskMeta {
    lines?: string[]
  }
}

const roles = ['api', 'worker', 'local'] as const
/** Audits run every minute, and their results are read every minute. */
const withinMs = minutes(4)
/** Prometheus has little data here, so a query that takes long has another reason. */
const queryMsMax = 1_000

let stack: Stack
let prometheus: Prometheus
let load: Load
let proxy: Awaited<ReturnType<typeof startCertifiedServer>>
const startedSeconds = Date.now() / 1_000

const now = () => Date.now() / 1_000
const elapsedSeconds = () => Math.ceil(now() - startedSeconds)

/** A port where nothing listens. */
const closedPort = async () => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

beforeAll(async () => {
  const ports = await reservePorts('/tmp', [...roles, 'prometheus'] as const)
  const unreachable = await closedPort()
  proxy = await startCertifiedServer()
  const metricsOf = (role: (typeof roles)[number]) => ({ METRICS_PORT: String(ports[role]) })
  stack = await startStack({
    provider: 'local',
    environment: { ...manyRequests, ...metricsOf('local') },
    roleEnvironments: {
      api: metricsOf('api'),
      worker: { ...metricsOf('worker'), PUBLIC_URL: proxy.url },
    },
    routingConfig: (vendor) => {
      const common = { kind: 'openai', baseUrl: vendor.url, slots: 50, pollIntervalMsMin: 250 }
      return {
        providers: {
          vendor: {
            ...{ ...common, apiKey: 'vendor-key-of-tests', idempotentSubmits: true, lookup: true },
            budgetPerDayMicros: 1e9,
          },
          local: { kind: 'local' },
          refused: { ...common, apiKey: 'another key' },
          unreachable: { ...common, baseUrl: `http://127.0.0.1:${unreachable}`, apiKey: 'a key' },
        },
        models: {
          [models.local]: { provider: 'local' },
          [models.localSpeech]: { provider: 'local' },
          [models.refused]: { provider: 'refused' },
          [models.unreachable]: { provider: 'unreachable' },
        },
      }
    },
  })
  prometheus = await startPrometheus({
    directory: stack.directory,
    port: ports.prometheus,
    targets: Object.fromEntries(roles.map((role) => [`kinora-${role}`, [`127.0.0.1:${ports[role]}`]])),
    rulePaths: ruleFiles.map((file) => join(folder, file)),
  })
  load = await startLoad(stack)
})
afterAll(async () => {
  await load.stop()
  await prometheus[Symbol.asyncDispose]()
  await stack[Symbol.asyncDispose]()
  await proxy[Symbol.asyncDispose]()
})

interface Checked extends ExpectedQuery {
  series: number
  milliseconds: number
}

/** How many series have a number, now or earlier, in the time that a dashboard would show. */
const check = async (query: ExpectedQuery): Promise<Checked> => {
  const { points, milliseconds } = await prometheus.queryRange(query.expression, startedSeconds, now())
  const series = points.filter(({ values }) => values.some((value) => !Number.isNaN(value))).length
  return { ...query, series, milliseconds }
}

/** The fastest of three, because other work on this machine can only make a query slower. */
const checkAgain = async (first: Checked): Promise<Checked> => {
  let milliseconds = first.milliseconds
  for (let repeats = 0; repeats < 2 && milliseconds > queryMsMax; repeats += 1)
    milliseconds = Math.min(milliseconds, (await check(first)).milliseconds)
  return { ...first, milliseconds }
}

/** Checks until each query returns a series, or time is up. The range grows meanwhile. */
const untilAnswered = async (read: () => ExpectedQuery[]): Promise<Checked[]> => {
  const checked = new Map<number, Checked>()
  for (;;) {
    for (const [index, query] of read().entries()) {
      if ((checked.get(index)?.series ?? 0) === 0) checked.set(index, await check(query))
    }
    const isComplete = [...checked.values()].every(({ series }) => series > 0)
    if (isComplete || elapsedSeconds() * 1_000 > withinMs) return [...checked.values()]
    await wait(seconds(1))
  }
}

const describeQuery = ({ source, name, expression }: ExpectedQuery) => `${source}, ${name}: ${expression}`

/** A line for each dashboard or rule file. */
const summarize = (checked: Checked[]): string[] =>
  Object.entries(Object.groupBy(checked, ({ source }) => source)).map(([source, queries = []]) => {
    const answered = queries.filter(({ series }) => series > 0)
    const series = answered.reduce((sum, each) => sum + each.series, 0)
    const slowest = Math.max(...queries.map(({ milliseconds }) => milliseconds))
    return [
      source.padEnd(24),
      `${String(answered.length).padStart(4)} of ${String(queries.length).padStart(4)} queries return`,
      `${String(series).padStart(5)} series, the slowest in ${Math.round(slowest).toString().padStart(4)} ms`,
    ].join(' ')
  })

const assertAnswered = async (given: Checked[], lines: string[]) => {
  const checked: Checked[] = []
  for (const each of given) checked.push(await checkAgain(each))
  lines.push(...summarize(checked))
  expect(checked.filter(({ series }) => series === 0).map(describeQuery)).toEqual([])
  const slow = checked.filter(({ milliseconds }) => milliseconds > queryMsMax)
  expect(slow.map((query) => `${Math.round(query.milliseconds)} ms: ${describeQuery(query)}`)).toEqual([])
}

/** Each series of a metric that must exist, by the label that it must have. */
const expectedSeries = (): ExpectedQuery[] =>
  Object.entries<MetricRow>(metricTable).flatMap(([given, row]) => {
    const name = prometheusNameOf(given, row)
    const series = row.type === 'histogram' ? `${name}_count` : name
    const source = row.when === undefined ? 'metrics' : 'metrics that may be absent'
    const ofRoles = row.roles.map((role) => `${series}{job="kinora-${role}"}`)
    const ofLabels = Object.keys(row.labels).map((label) => `${series}{${prometheusLabelOf(label)}!=""}`)
    return [...ofRoles, ...ofLabels].map((expression) => ({ source, name, expression }))
  })

test('every process is scraped', async () => {
  await expect
    .poll(() => prometheus.targets(), { timeout: minutes(1) })
    .toEqual(roles.toSorted().map((role) => ({ job: `kinora-${role}`, health: 'up', lastError: '' })))
})

test('every metric appears, with each of its labels, from each of its roles', async ({ task }) => {
  await assertAnswered(await untilAnswered(expectedSeries), (task.meta.lines = []))
})

test('the variables of the dashboards have values', async ({ task }) => {
  const variables = dashboardVariables()
  expect(variables.length).toBeGreaterThan(4)
  const found = await Promise.all(
    variables.map(async ({ dashboard, name, label, selector }) => {
      const values = await prometheus.valuesOf(label, selector)
      return { text: `${dashboard}, ${name}: ${values.join(' ')}`, values }
    }),
  )
  task.meta.lines = found.map(({ text }) => text)
  expect(found.filter(({ values }) => values.length === 0)).toEqual([])
})

test('every query of the dashboards returns series', async ({ task }) => {
  await assertAnswered(await untilAnswered(() => dashboardQueries(elapsedSeconds())), (task.meta.lines = []))
})

test('every part of the rules returns series', async ({ task }) => {
  await assertAnswered(await untilAnswered(ruleQueries), (task.meta.lines = []))
})

test('the load did what it should', async ({ task }) => {
  const statuses = load.statuses()
  task.meta.lines = Object.entries(statuses).map(
    ([name, counts]) =>
      `${name.padEnd(46)} ${Object.entries(counts)
        .map(([status, count]) => `${status}: ${count}`)
        .join(', ')}`,
  )
  const { points } = await prometheus.query('sum(scrape_samples_scraped) by (job)')
  for (const { labels, values } of points)
    task.meta.lines.push(`${labels['job']}: ${values.join()} samples in a scrape`)
})
