import { total, type Figures } from '../measure/figures.ts'
import { mediansOf } from '../measure/rounds.ts'
/** The tables and the charts of what more workers cost, and of the comparison with the engine. */
import type { CheckFigures } from '../processes/engine-check.ts'
import type { SteadyFigures } from '../processes/steady.ts'
import { stackedBars, type Bar } from './chart.ts'
import { readResult } from './results.ts'

const now = readResult<SteadyFigures[]>('processes-steady')
/** When each run was a call of the engine of its own, and every submit and every end woke a loop. */
const before = readResult<SteadyFigures[]>('processes-steady-before')
const checks = readResult<CheckFigures[]>('engine-check')

/** What tasks with more workers should cost at most, as a multiple of tasks with one. */
const ratioMax = 1.25
const processes = ['api', 'worker', 'restate', 'postgres', 'redis'] as const

const cpuOf = (figures: Figures): Figures =>
  Object.fromEntries(processes.map((name) => [name, figures[name] ?? 0]))

const round = (value: number, digits = 1) => value.toFixed(digits)

/** A figure with its multiple of that with one worker. */
const withRatio = (value: number, alone: number) => `${round(value)} (${round(value / alone, 2)}×)`

const rowsOf = (label: string, measured: SteadyFigures[]): string[] => {
  const alone = mediansOf(measured.find(({ workers }) => workers === 1)?.task ?? [])
  return measured.map(({ workers, idle, task }) => {
    const figures = mediansOf(task)
    const compared = (name: string) => withRatio(figures[name] ?? Number.NaN, alone[name] ?? Number.NaN)
    const idleCpu = cpuOf(mediansOf(idle))
    const cells = [
      ...[label, workers, compared('statements'), compared('writes')],
      round(figures['lock waits'] ?? Number.NaN, 2),
      round(figures['invocations of runs'] ?? Number.NaN, 2),
      ...['postgres', 'restate', 'worker'].map(compared),
      `${round(total(idleCpu) / 10)} %, of which workers ${round((idleCpu['worker'] ?? 0) / 10)} %`,
    ]
    return `| ${cells.join(' | ')} |`
  })
}

const verdict = (): string => {
  if (now === undefined) return ''
  const alone = mediansOf(now.figures.find(({ workers }) => workers === 1)?.task ?? [])
  const names = ['statements', 'writes', 'postgres', 'restate', 'worker']
  const missed = now.figures.flatMap(({ workers, task }) => {
    const figures = mediansOf(task)
    return names.flatMap((name) => {
      const ratio = (figures[name] ?? Number.NaN) / (alone[name] ?? Number.NaN)
      const limit = name === 'worker' ? 1 : ratioMax
      return ratio <= limit ? [] : [`${name} with ${workers} (${round(ratio, 2)}×)`]
    })
  })
  const aim = `Aim: at most ${ratioMax}× of one worker, and 1× for the workers themselves.`
  return missed.length === 0 ? `${aim} Reached.` : `${aim} Not reached: ${missed.join(', ')}.`
}

const notMeasured = 'Not measured yet.'

const tableOfWorkers = (): string =>
  [
    '| calls of the engine | workers | statements | row writes | lock waits | calls of runs | CPU: PostgreSQL, ms | Restate, ms | workers, ms | CPU without tasks |',
    '|---|---|---|---|---|---|---|---|---|---|',
    ...rowsOf('one per run', before?.figures ?? []),
    ...rowsOf('several runs', now?.figures ?? []),
    '',
    verdict(),
  ].join('\n')

export const workersTable = (): string => (now === undefined ? notMeasured : tableOfWorkers())

const barsOf = (label: string, measured: SteadyFigures[]): Bar[] =>
  measured.map(({ workers, task }) => ({
    label: `${workers} workers, ${label}`,
    parts: cpuOf(mediansOf(task)),
  }))

export const workersChart = (): Record<string, string> =>
  now === undefined
    ? {}
    : {
        'docs/performance/processes-steady.svg': stackedBars(
          'CPU of a task at 25 tasks per second, all processes, without what they use without tasks',
          'ms',
          [...barsOf('before', before?.figures ?? []), ...barsOf('now', now.figures)],
        ),
      }

const tableOfChecks = (): string =>
  [
    '| open tasks | of which with a run | calls in the engine | compared every | CPU of a comparison: worker, ms | PostgreSQL, ms | Restate, ms | share of one core |',
    '|---|---|---|---|---|---|---|---|',
    ...(checks?.figures ?? []).map(({ tasks, withRun, invocations, intervalMs, cpu }) => {
      const figures = mediansOf(cpu)
      const parts = ['worker', 'postgres', 'restate'].map((name) => figures[name] ?? Number.NaN)
      const sum = parts.reduce((all, each) => all + each, 0)
      const share = `${round((100 * sum) / intervalMs, 2)} %`
      return `| ${[
        ...[tasks, withRun, invocations].map((count) => count.toLocaleString('en')),
        `${intervalMs / 1000} s`,
        ...parts.map((each) => round(each, 0)),
        share,
      ].join(' | ')} |`
    }),
  ].join('\n')

export const checksTable = (): string => (checks === undefined ? notMeasured : tableOfChecks())
