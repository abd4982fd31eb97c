/** The tables of what many customers cost, and their charts. */
import type { AccountFigures } from '../customers/accounts.ts'
import type { ChoosingFigures } from '../customers/choosing.ts'
import { mediansOf, ratioOf } from '../measure/rounds.ts'
import { logLines } from './chart.ts'
import { readResult } from './results.ts'

export const choosing = readResult<ChoosingFigures[]>('choosing')?.figures
export const accounts = readResult<AccountFigures[]>('accounts')?.figures

const digits = (value = Number.NaN) =>
  value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(value >= 10 ? 3 : 2)))

export const choosingTable = (): string =>
  [
    '| waiting keys | waiting tasks of each | in flight of each | PostgreSQL, ms | worker, ms | time, ms | one statement: PostgreSQL, ms | time, ms |',
    '|---|---|---|---|---|---|---|---|',
    ...(choosing ?? []).map(({ keys, tasksPerKey, inFlight, choosing: rounds }) => {
      const [heads, whole] = [mediansOf(rounds.heads), mediansOf(rounds['one statement'])]
      const sizes = [keys, tasksPerKey, inFlight].map((size) => size.toLocaleString('en'))
      const figures = [
        ...[heads['postgres'], heads['worker'], heads['ms']],
        ...[whole['postgres'], whole['ms']],
      ].map(digits)
      return `| ${[...sizes, ...figures].join(' | ')} |`
    }),
  ].join('\n')

export const choosingChart = (): string => {
  const points = (arm: 'heads' | 'one statement') =>
    (choosing ?? []).flatMap(({ keys, inFlight, choosing: rounds }) =>
      inFlight > 0 ? [] : { x: keys, y: mediansOf(rounds[arm])['postgres'] ?? Number.NaN },
    )
  return logLines(
    'Choosing 300 of 100,000 waiting tasks, PostgreSQL',
    { x: 'waiting keys', y: 'ms' },
    (['heads', 'one statement'] as const).map((label) => ({ label, points: points(label) })),
  )
}

export const accountsTable = (): string =>
  [
    '| APIs | connections | one account: per second | p50, ms | p99, ms | CPU, ms | a thousand accounts: per second | p50, ms | p99, ms | CPU, ms | ratio |',
    '|---|---|---|---|---|---|---|---|---|---|---|',
    ...(accounts ?? []).map(({ apis, connections, create }) => {
      const { 'one account': one, 'a thousand accounts': many } = create
      const figuresOf = (rounds: typeof one) => {
        const medians = mediansOf(rounds)
        return ['per second', 'p50 ms', 'p99 ms', 'cpu'].map((name) => digits(medians[name]))
      }
      const ratio = `${digits(ratioOf(one, many, 'per second').median)}×`
      return `| ${[apis, connections, ...figuresOf(one), ...figuresOf(many), ratio].join(' | ')} |`
    }),
  ].join('\n')
