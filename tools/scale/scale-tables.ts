/** The tables of docs/scale.md. */
import { costs, largest, planFor, scales, type Plan } from './plan.ts'
import { alsoMeasured, assumed, measured, type Fact } from './task-costs.ts'

/** Two digits, which is more than the assumptions have. */
const rounded = (value: number): string => {
  if (value === 0) return '0'
  const short = Number(value.toPrecision(2))
  return short >= 1_000 ? short.toLocaleString('en') : String(Number(short.toFixed(6)))
}
const smallest = 0.01
const atLeast = (value: number): string => (value < smallest ? `< ${smallest}` : rounded(value))
const exact = (value: number): string =>
  value >= 1_000 ? value.toLocaleString('en') : String(Number(value.toPrecision(3)))

const table = (head: string[], rows: string[][]): string =>
  [
    `| ${head.join(' | ')} |`,
    `|${head.map(() => '---|').join('')}`,
    ...rows.map((cells) => `| ${cells.join(' | ')} |`),
  ].join('\n')

const bytes = (gigabytes: number): string => {
  if (gigabytes >= 1e6) return `${rounded(gigabytes / 1e6)} PB`
  if (gigabytes >= 1e3) return `${rounded(gigabytes / 1e3)} TB`
  return gigabytes >= 1 ? `${rounded(gigabytes)} GB` : `${rounded(gigabytes * 1e3)} MB`
}
const bits = (gigabits: number): string =>
  gigabits >= 1 ? `${rounded(gigabits)} Gbit/s` : `${rounded(gigabits * 1e3)} Mbit/s`

const cellsOfLargest = planFor(largest).cells
/** The columns, and one of the cells of the largest. */
const columns: { title: string; plan: Plan; isOne: boolean }[] = [
  ...scales.map((tasks) => ({
    title: tasks.toLocaleString('en'),
    plan: planFor(tasks),
    isOne: tasks < largest,
  })),
  {
    title: `one of ${cellsOfLargest} cells of these`,
    plan: planFor(largest / cellsOfLargest, assumed.peakFactorOfMany.value),
    isOne: true,
  },
]

const planTable = (): string => {
  const row = (what: string, show: (plan: Plan) => string, onlyOfOne = false) => [
    what,
    ...columns.map(({ plan, isOne }) => (onlyOfOne && !isOne ? '–' : show(plan))),
  ]
  return table(
    ['tasks a day', ...columns.map(({ title }) => title)],
    [
      row('tasks per second, average', ({ perSecond }) => rounded(perSecond.average)),
      row('tasks per second, peak', ({ perSecond }) => rounded(perSecond.peak)),
      row('tasks in flight', ({ inFlight }) => rounded(inFlight)),
      row('status reads per second', ({ reads }) => rounded(reads)),
      row('polls of providers per second', ({ polls }) => rounded(polls)),
      row('busy processors: API', ({ busy }) => atLeast(busy.api)),
      row('busy processors: worker', ({ busy }) => atLeast(busy.worker)),
      row('busy processors: Restate', ({ busy }) => atLeast(busy.restate)),
      row('busy processors: PostgreSQL', ({ busy }) => atLeast(busy.postgres)),
      row('API processes', ({ apis }) => String(apis), true),
      row('worker processes', ({ workers }) => String(workers), true),
      row('`LIMIT_DOWNLOADS`', ({ downloads }) => String(downloads), true),
      row('invocations of Restate', ({ invocations }) => invocations.toLocaleString('en'), true),
      row('connections to PostgreSQL', ({ connections }) => String(connections), true),
      row('traffic from providers', ({ traffic }) => bits(traffic.in)),
      row('traffic to the store', ({ traffic }) => bits(traffic.stored)),
      row('traffic to customers', ({ traffic }) => bits(traffic.out)),
      row('results stored', ({ stored }) => bytes(stored.media)),
      row('rows of tasks', ({ stored }) => bytes(stored.record)),
      row('request log', ({ stored }) => bytes(stored.log)),
      row('ledger and usage, per year', ({ stored }) => bytes(stored.ledgerPerYear)),
      row('cells', ({ cells }) => String(cells)),
    ],
  )
}

const factTable = (facts: Fact[]): string =>
  table(
    ['what', 'value', 'source'],
    facts.map(({ what, value, unit, source }) => [what, `${exact(value)} ${unit}`.trim(), source]),
  )

const costTable = (): string => {
  const rows = costs()
  const [provider, ...own] = rows
  const ours = own.reduce((sum, { usd }) => sum + usd, 0)
  const show = (usd: number) => String(Number(usd.toPrecision(2)))
  return table(
    ['part', 'USD per task', 'calculation'],
    [
      ...rows.map(({ what, usd, how }) => [what, show(usd), how]),
      [
        'all but the provider',
        show(ours),
        `${rounded((100 * ours) / (provider?.usd ?? 1))} % of the provider`,
      ],
    ],
  )
}

/** Nobody has recorded it yet. */
const isAssumed = ({ source }: Fact) => source.startsWith('not recorded')

export const scaleTables = (): Record<string, string> => ({
  plan: `${planTable()}\n`,
  costs: `${costTable()}\n`,
  measured: `${factTable([...Object.values(measured).filter((fact) => !isAssumed(fact)), ...alsoMeasured])}\n`,
  assumed: `${factTable([...Object.values(measured).filter(isAssumed), ...Object.values(assumed)])}\n`,
})
