/** The tables and charts of docs/performance.md, from the stored figures. */
import type { GrowthFigures } from '../growth.ts'
import type { InFlightFigures } from '../in-flight.ts'
import type { LifeFigures } from '../life.ts'
import type { Figures, Spread } from '../measure/figures.ts'
import { median, spreadOf, total } from '../measure/figures.ts'
import { mediansOf, ratioOf } from '../measure/rounds.ts'
import type { ProcessFigures } from '../processes/processes.ts'
import type { RequestFigures } from '../requests.ts'
import type { SpeechFigures } from '../speech.ts'
import { logLines, stackedBars, type Bar } from './chart.ts'
import { mediaChart, mediaRatio, mediaTable } from './media-table.ts'
import { observabilityTable } from './observability-table.ts'
import { readResult } from './results.ts'
import { waitingChart, waitingTable } from './waiting-table.ts'
import { checksTable, workersChart, workersTable } from './workers-table.ts'

const requests = readResult<RequestFigures>('requests')
const speech = readResult<SpeechFigures>('speech')
const life = readResult<LifeFigures>('life')
const inFlight = readResult<InFlightFigures[]>('in-flight')
const growth = readResult<GrowthFigures[]>('growth')
const processes = readResult<ProcessFigures[]>('processes')
const drawnMedia = mediaChart()

/** What is compared, and the limits that the ratio or figure should keep. */
interface Aim {
  what: string
  against: string
  measured: Spread | undefined
  unit: '×' | '' | ' KiB' | ' %'
  must: number
  stretch?: number
  /** Whether the figure should be at least, not at most, the limit. */
  isAtLeast?: boolean
}

const exactly = (value: number | undefined): Spread | undefined =>
  value === undefined || Number.isNaN(value) ? undefined : { median: value, min: value, max: value }

/** The time that a gateway adds to that of the vendor, as a ratio of two gateways. */
const addedRatio = ({ kinora, portkey, direct }: SpeechFigures['one caller']): Spread => {
  const added = (rounds: Figures[], index: number) =>
    (rounds[index]?.['p50 ms'] ?? Number.NaN) - (direct[index]?.['p50 ms'] ?? Number.NaN)
  return spreadOf(kinora.map((_, index) => added(kinora, index) / added(portkey, index)))
}

const inFlightOf = (tasks: number) => inFlight?.figures.find((each) => each.tasks === tasks)
const growthTo = (rows: number) => growth?.figures.find((each) => each.rows === rows)?.operations

const aims = (): Aim[] => {
  const { create, read } = requests?.figures ?? {}
  const { life: lives } = life?.figures ?? {}
  const one = speech?.figures['one caller']
  const many = speech?.figures['32 callers']
  const [few, lots] = [inFlightOf(1_000), inFlightOf(20_000)]
  const page = growthTo(1_000_000)?.['first page']
  const memory = lots && Object.values(lots.memory).reduce((sum, value) => sum + value, 0)
  return [
    {
      what: 'create a video, CPU',
      against: 'Fastify with one insert',
      measured: create && ratioOf(create.kinora, create.bare, 'cpu'),
      ...{ unit: '×', must: 1.5, stretch: 1 },
    },
    {
      what: 'read the status, CPU',
      against: 'Fastify with one select',
      measured: read && ratioOf(read.kinora, read.bare, 'cpu'),
      ...{ unit: '×', must: 1, stretch: 0.6 },
    },
    {
      what: 'speech passed on, 32 callers, CPU of everything',
      against: 'Portkey',
      measured: many && ratioOf(many.kinora, many.portkey, 'cpu'),
      ...{ unit: '×', must: 0.5, stretch: 0.2 },
    },
    {
      what: 'speech passed on, one caller, added time',
      against: 'Portkey',
      measured: one && addedRatio(one),
      ...{ unit: '×', must: 1, stretch: 0.5 },
    },
    {
      what: 'life of a task, CPU',
      against: 'a Restate workflow of four empty steps',
      measured: lives && ratioOf(lives.kinora, lives.workflow, 'cpu'),
      ...{ unit: '×', must: 3, stretch: 2.2 },
    },
    {
      what: 'life of a task, tasks per second',
      against: 'a Restate workflow of four empty steps',
      measured: lives && ratioOf(lives.kinora, lives.workflow, 'per second'),
      ...{ unit: '×', must: 0.33, stretch: 0.45, isAtLeast: true },
    },
    {
      what: 'life of a task, tasks per second',
      against: 'leases in PostgreSQL by hand',
      measured: lives && ratioOf(lives.kinora, lives.leases, 'per second'),
      ...{ unit: '×', must: 0.5, stretch: 0.7, isAtLeast: true },
    },
    {
      what: 'a result of 8 MB in a directory, besides an empty task, CPU',
      against: 'a bare copy',
      measured: exactly(mediaRatio('disk')),
      ...{ unit: '×', must: 1.5 },
    },
    {
      what: 'a result of 8 MB in S3, besides an empty task, CPU',
      against: 'a bare copy',
      measured: exactly(mediaRatio('s3')),
      ...{ unit: '×', must: 1.5 },
    },
    {
      what: '20,000 tasks at a provider that is polled: polls overdue by more than an interval',
      against: 'none',
      measured: exactly(lots?.overdueTasks),
      ...{ unit: '', must: 0 },
    },
    {
      what: 'choosing the next tasks beside 20,000 in flight',
      against: 'beside 1,000',
      measured: exactly(lots && few && lots.chooseMs / few.chooseMs),
      ...{ unit: '×', must: 1.5 },
    },
    {
      what: 'first page of a list with 1,000,000 tasks, time',
      against: 'an empty record',
      measured: page && ratioOf(page.full, page.empty, 'p50 ms'),
      ...{ unit: '×', must: 1.2 },
    },
    {
      what: 'first page of a list with 1,000,000 tasks, CPU',
      against: 'an empty record',
      measured: page && ratioOf(page.full, page.empty, 'cpu'),
      ...{ unit: '×', must: 1.2 },
    },
    {
      what: 'the service 30 s after its last task, CPU',
      against: 'one core',
      measured: exactly(life && 100 * total(life.figures.idle)),
      ...{ unit: ' %', must: 3 },
    },
    {
      what: 'memory of a task in flight, API, worker and engine',
      against: '',
      measured: exactly(memory),
      ...{ unit: ' KiB', must: 12, stretch: 6 },
    },
  ]
}

const digits = (value: number) =>
  value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(value >= 10 ? 3 : 2)))

const verdictOf = ({ measured, must, stretch, isAtLeast = false }: Aim): string => {
  if (measured === undefined) return 'not measured'
  const keeps = (limit: number) => (isAtLeast ? measured.median >= limit : measured.median <= limit)
  if (stretch !== undefined && keeps(stretch)) return 'better than hoped'
  return keeps(must) ? 'yes' : 'no'
}

const aimsTable = (): string => {
  const rows = aims().map((aim) => {
    const { what, against, measured, unit, must, stretch, isAtLeast } = aim
    const sign = isAtLeast === true ? '≥' : '≤'
    const value = measured === undefined ? '–' : `${digits(measured.median)}${unit}`
    const range =
      measured === undefined || measured.min === measured.max
        ? ''
        : ` (${digits(measured.min)}–${digits(measured.max)})`
    const hoped = stretch === undefined ? '' : `, hoped ${sign} ${stretch}`
    return `| ${what} | ${against} | ${value}${range} | ${sign} ${must}${hoped} | ${verdictOf(aim)} |`
  })
  return ['| what | compared with | measured | aim | reached |', '|---|---|---|---|---|', ...rows].join('\n')
}

const measuredProcesses = ['api', 'gateway', 'workflow', 'worker', 'restate', 'postgres', 'redis']

const figureRows = (name: string, arms: Record<string, Figures[]> | undefined): string[] =>
  Object.entries(arms ?? {}).map(([arm, rounds]) => {
    const figures = mediansOf(rounds)
    const shown = (key: string) => (figures[key] === undefined ? '' : digits(figures[key]))
    const cpu = measuredProcesses
      .filter((key) => (figures[key] ?? 0) > 0)
      .map((key) => `${key} ${shown(key)}`)
      .join(', ')
    return `| ${name} | ${arm} | ${shown('per second')} | ${shown('p50 ms')} | ${shown('p99 ms')} | ${shown('cpu')} | ${cpu} | ${digits(100 * (figures['steal'] ?? 0))} |`
  })

const figuresTable = (): string =>
  [
    '| operation | arm | per second | p50, ms | p99, ms | CPU, ms | of which | steal, % |',
    '|---|---|---|---|---|---|---|---|',
    ...figureRows('create', requests?.figures.create),
    ...figureRows('read', requests?.figures.read),
    ...figureRows('read, unchanged (304)', requests?.figures['read unchanged']),
    ...figureRows('speech, one caller', speech?.figures['one caller']),
    ...figureRows('speech, 32 callers', speech?.figures['32 callers']),
    ...figureRows('life of a task', life?.figures.life),
  ].join('\n')

const inFlightTable = (): string => {
  const share = (value = 0) => `${digits(100 * value)} %`
  return [
    '| tasks | polls per second | CPU: worker | PostgreSQL | Restate | most overdue, s | overdue by an interval | choosing, ms | memory per task, KiB: API, worker, Restate |',
    '|---|---|---|---|---|---|---|---|---|',
    ...(inFlight?.figures ?? []).map(
      ({ tasks, pollsPerSecond, busy, memory, overdueSeconds, overdueTasks, chooseMs }) =>
        `| ${tasks.toLocaleString('en')} | ${digits(pollsPerSecond)} | ${share(busy['worker'])} | ${share(busy['postgres'])} | ${share(busy['restate'])} | ${digits(overdueSeconds)} | ${overdueTasks} | ${digits(chooseMs)} | ${['api', 'worker', 'restate'].map((name) => digits(memory[name] ?? 0)).join(', ')} |`,
    ),
  ].join('\n')
}

const processesTable = (): string =>
  [
    '| APIs | workers | tasks per second | CPU of a task, ms | of which | reads per second | CPU of a read, ms |',
    '|---|---|---|---|---|---|---|',
    ...(processes?.figures ?? []).map(({ apis, workers, life: lives, read }) => {
      const [ofTask, ofRead] = [mediansOf(lives), mediansOf(read)]
      const shown = (figures: Figures, name: string) => digits(figures[name] ?? Number.NaN)
      const parts = measuredProcesses.filter((name) => (ofTask[name] ?? 0) > 0)
      return `| ${apis} | ${workers} | ${shown(ofTask, 'per second')} | ${shown(ofTask, 'cpu')} | ${parts.map((name) => `${name} ${shown(ofTask, name)}`).join(', ')} | ${shown(ofRead, 'per second')} | ${shown(ofRead, 'cpu')} |`
    }),
  ].join('\n')

const growthOperations = ['create', 'read', 'first page', 'deep page'] as const

/** CPU with so many rows, as a multiple of that of the empty service in the same rounds. */
const growthRatio = (operation: (typeof growthOperations)[number], figures: GrowthFigures, name: string) => {
  const { full, empty } = figures.operations[operation]
  return ratioOf(full, empty, name).median
}

/** The slope of the logarithms: 0 if the cost does not grow, 1 if it grows with the rows. */
const exponentOf = (points: { x: number; y: number }[]): number => {
  const logs = points.map(({ x, y }) => ({ x: Math.log(x), y: Math.log(y) }))
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [meanX, meanY] = [mean(logs.map(({ x }) => x)), mean(logs.map(({ y }) => y))]
  const covariance = logs.reduce((sum, { x, y }) => sum + (x - meanX) * (y - meanY), 0)
  return covariance / logs.reduce((sum, { x }) => sum + (x - meanX) ** 2, 0)
}

const growthPoints = (operation: (typeof growthOperations)[number]) =>
  (growth?.figures ?? []).map((each) => ({
    x: each.rows,
    y: median(each.operations[operation].full.map((round) => round['cpu'] ?? Number.NaN)),
  }))

const growthTable = (): string => {
  const sizes = growth?.figures ?? []
  return [
    `| operation | ${sizes.map(({ rows }) => `${rows.toLocaleString('en')}: time, CPU`).join(' | ')} | exponent of CPU |`,
    `|---|${sizes.map(() => '---|').join('')}---|`,
    ...growthOperations.map((operation) => {
      const cells = sizes.map(
        (each) =>
          `${digits(growthRatio(operation, each, 'p50 ms'))}×, ${digits(growthRatio(operation, each, 'cpu'))}×`,
      )
      const exponent = sizes.length < 2 ? '–' : exponentOf(growthPoints(operation)).toFixed(3)
      return `| ${operation} | ${cells.join(' | ')} | ${exponent} |`
    }),
  ].join('\n')
}

const barsOf = (name: string, arms: Record<string, Figures[]> | undefined): Bar[] =>
  Object.entries(arms ?? {}).flatMap(([arm, rounds]) => {
    const figures = mediansOf(rounds)
    const own = figures['gateway'] ?? figures['workflow'] ?? figures['api'] ?? 0
    const parts = {
      'api or baseline': arm === 'leases' ? (figures['worker'] ?? 0) : own,
      worker: arm === 'kinora' ? (figures['worker'] ?? 0) : 0,
      restate: figures['restate'] ?? 0,
      postgres: figures['postgres'] ?? 0,
      redis: figures['redis'] ?? 0,
    }
    return arm === 'direct' ? [] : [{ label: `${name}: ${arm}`, parts }]
  })

const chartOfWaiting = waitingChart()

/** The charts of the page, by file; only of what was measured. */
export const performanceCharts = (): Record<string, string> => ({
  ...(chartOfWaiting !== undefined && { 'docs/performance/waiting.svg': chartOfWaiting }),
  ...workersChart(),
  ...(requests !== undefined && {
    'docs/performance/requests.svg': stackedBars('CPU of a request, all processes', 'ms', [
      ...barsOf('create', requests.figures.create),
      ...barsOf('read', requests.figures.read),
      ...barsOf('speech', speech?.figures['32 callers']),
    ]),
  }),
  ...(life !== undefined && {
    'docs/performance/life.svg': stackedBars(
      'CPU of a task from its create to its end, all processes',
      'ms',
      barsOf('life', life.figures.life),
    ),
  }),
  ...(drawnMedia !== undefined && { 'docs/performance/media.svg': drawnMedia }),
  ...(inFlight !== undefined && {
    'docs/performance/in-flight.svg': logLines(
      'CPU while tasks wait at a provider that is polled',
      { x: 'tasks in flight', y: 'ms per second' },
      inFlightSeries(),
    ),
  }),
  ...(growth !== undefined && {
    'docs/performance/growth.svg': logLines(
      'CPU of a request as the record grows',
      { x: 'tasks in the record', y: 'ms' },
      growthOperations.map((operation) => ({ label: operation, points: growthPoints(operation) })),
    ),
  }),
})

const inFlightSeries = () =>
  [
    { label: 'worker', valueOf: ({ busy }: InFlightFigures) => 1000 * (busy['worker'] ?? 0) },
    { label: 'PostgreSQL', valueOf: ({ busy }: InFlightFigures) => 1000 * (busy['postgres'] ?? 0) },
    { label: 'Restate', valueOf: ({ busy }: InFlightFigures) => 1000 * (busy['restate'] ?? 0) },
  ].map(({ label, valueOf }) => ({
    label,
    points: (inFlight?.figures ?? []).map((each) => ({ x: each.tasks, y: valueOf(each) })),
  }))

/** How the processor time and the choosing grow with the tasks in flight. */
const inFlightExponents = (): string => {
  if (inFlight === undefined || inFlight.figures.length < 2) return ''
  const choosing = inFlight.figures.map(({ tasks, chooseMs }) => ({ x: tasks, y: chooseMs }))
  const shown = [...inFlightSeries(), { label: 'choosing', points: choosing }].map(
    ({ label, points }) => `${label} ${exponentOf(points).toFixed(2)}`,
  )
  return `Fitted exponents: ${shown.join(', ')}. A job is polled less often the longer it has run, so the polls grow more slowly than the tasks.`
}

const chart = (name: string, description: string): string[] =>
  Object.hasOwn(performanceCharts(), `docs/performance/${name}.svg`)
    ? [`![${description}](performance/${name}.svg)`, '']
    : []

/** The tables of the page with their charts, by the name of their marks. */
export const performanceTables = (): Record<string, string> => ({
  aims: aimsTable(),
  figures: [...chart('requests', 'CPU of requests'), ...chart('life', 'CPU of a task'), figuresTable()].join(
    '\n',
  ),
  'in flight': [
    ...chart('in-flight', 'CPU while tasks wait at a provider'),
    inFlightTable(),
    '',
    inFlightExponents(),
  ].join('\n'),
  media: [...chart('media', 'CPU of a task per megabyte of its result'), mediaTable()].join('\n'),
  processes: processesTable(),
  workers: [...chart('processes-steady', 'CPU of a task with more workers'), workersTable()].join('\n'),
  checks: checksTable(),
  observability: observabilityTable(),
  waiting: [...chart('waiting', 'CPU while clients wait'), waitingTable()].join('\n'),
  growth: [...chart('growth', 'CPU of a request as the record grows'), growthTable()].join('\n'),
})
