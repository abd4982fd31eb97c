/** The table of what metrics and traces add. */
import { medianInterval, type Figures, type Spread } from '../measure/figures.ts'
import type { ObservedLives, ObservedRequests } from '../observability.ts'
import { readResult } from './results.ts'

type Arm = 'metrics' | 'traces'

interface Row {
  what: string
  rounds: Record<'off' | Arm, Figures[]>
  /** Of the processor time that is spent without metrics, in percent, or in microseconds. */
  unit: ' %' | ' µs'
  most: Record<Arm, number | undefined>
}

const microsecondsPerMs = 1000
const cpuOf = (figures: Figures | undefined) => figures?.['cpu'] ?? Number.NaN

/** What is added in each round, in comparison with the round without. */
const addedOf = ({ rounds, unit }: Row, arm: Arm): Spread =>
  medianInterval(
    rounds[arm].map((figures, index) => {
      const off = cpuOf(rounds.off[index])
      return unit === ' %' ? 100 * (cpuOf(figures) / off - 1) : microsecondsPerMs * (cpuOf(figures) - off)
    }),
  )

const shown = (value: number) => `${value > 0 ? '+' : ''}${value.toFixed(1)}`

const verdictOf = ({ min, max }: Spread, most: number): string => {
  if (max <= most) return 'yes'
  return min > most ? 'no' : 'unclear'
}

const cellsOf = (row: Row, arm: Arm): string => {
  const added = addedOf(row, arm)
  const most = row.most[arm]
  const aim = most === undefined ? '–' : `≤ ${most}${row.unit}`
  const verdict = most === undefined ? '–' : verdictOf(added, most)
  return `${shown(added.median)}${row.unit} (${shown(added.min)} to ${shown(added.max)}) | ${aim} | ${verdict}`
}

const rows = (): Row[] => {
  const requests = readResult<ObservedRequests>('observed-requests')?.figures
  const life = readResult<ObservedLives>('observed-life')?.figures.life
  return [
    ...(requests === undefined
      ? []
      : [
          { what: 'create', rounds: requests.create, unit: ' %' as const, most: { metrics: 3, traces: 8 } },
          {
            ...{ what: 'status read', rounds: requests.read, unit: ' µs' as const },
            most: { metrics: 10, traces: undefined },
          },
        ]),
    ...(life === undefined
      ? []
      : [{ what: 'task', rounds: life, unit: ' %' as const, most: { metrics: 3, traces: 8 } }]),
  ]
}

const valueLines = (): string[] => {
  const values = readResult<Record<string, Record<'off' | 'on', number>>>('recorded-values')?.figures
  if (values === undefined) return []
  const micros = (value: number) => `${value.toFixed(value < 0.1 ? 3 : 1)} µs`
  return [
    '',
    '| one value | with metrics | without |',
    '|---|---|---|',
    ...Object.entries(values).map(([name, { off, on }]) => `| ${name} | ${micros(on)} | ${micros(off)} |`),
  ]
}

const scrapeLine = (): string[] => {
  const scrape = readResult<ObservedLives>('observed-life')?.figures.scrape
  if (scrape === undefined) return []
  const of = (role: 'api' | 'worker') =>
    `of the ${role === 'api' ? 'API' : 'worker'} ${(scrape[role]['cpu'] ?? 0).toFixed(1)} ms for ${scrape[role]['series']} lines`
  return ['', `A scrape ${of('api')}, ${of('worker')}.`]
}

export const observabilityTable = (): string =>
  [
    '| what | with metrics | aim | reached | with metrics, and a tenth of the requests traced | aim | reached |',
    '|---|---|---|---|---|---|---|',
    ...rows().map((row) => `| ${row.what} | ${cellsOf(row, 'metrics')} | ${cellsOf(row, 'traces')} |`),
    ...scrapeLine(),
    ...valueLines(),
  ].join('\n')
