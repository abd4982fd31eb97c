/** The tables and the chart of what waiting clients cost, before and after they were made cheaper. */
import type { WaitingFigures, WaitingWindow } from '../waiting/waiting.ts'
import { stackedBars, type Bar } from './chart.ts'
import { readResult } from './results.ts'

const states = ['before', 'after'] as const

const results = {
  before: readResult<WaitingFigures>('waiting-before'),
  after: readResult<WaitingFigures>('waiting'),
}

const shown = (value: number) => String(Number(value.toPrecision(value >= 100 ? 3 : 2)))
const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

const isSame = (a: WaitingWindow, b: WaitingWindow) =>
  a.streams === b.streams && a.polls === b.polls && a.isChanging === b.isChanging

const titleOf = ({ streams, polls, isChanging }: WaitingWindow): string => {
  const clients = [
    ...(streams > 0 ? [`${streams.toLocaleString('en')} streams`] : []),
    ...(polls > 0 ? [`${polls.toLocaleString('en')} long polls`] : []),
  ]
  return `${clients.length === 0 ? 'none' : clients.join(', ')}${isChanging ? ', changes' : ''}`
}

/** Each kind of window once: those without clients are measured several times. */
const kindsOf = ({ windows }: WaitingFigures) =>
  windows.filter((window, index) => windows.findIndex((each) => isSame(each, window)) === index)

const meanOf = (
  { windows }: WaitingFigures,
  kind: WaitingWindow,
  valueOf: (window: WaitingWindow) => number,
) => mean(windows.filter((each) => isSame(each, kind)).map(valueOf))

const windowRows = (): string[] =>
  states.flatMap((state) => {
    const figures = results[state]?.figures
    if (figures === undefined) return []
    return kindsOf(figures).map((kind) => {
      const value = (valueOf: (window: WaitingWindow) => number) => meanOf(figures, kind, valueOf)
      const share = (name: string) => `${shown(100 * value(({ busy }) => busy[name] ?? 0))} %`
      const alone = { ...kind, streams: 0, polls: 0 }
      const ratio = value(({ p99 }) => p99) / meanOf(figures, alone, ({ p99 }) => p99)
      return `| ${state} | ${titleOf(kind)} | ${share('api')} | ${share('postgres')} | ${shown(value(({ received }) => received))} | ${shown(value(({ p50 }) => p50))} | ${shown(value(({ p99 }) => p99))} | ${shown(ratio)}× |`
    })
  })

const memoryRows = (): string[] =>
  states.flatMap((state) => {
    const memory = results[state]?.figures.memory
    if (memory === undefined) return []
    const cells = (['streams', 'polls'] as const).map(
      (kind) => `${shown(memory[kind].resident)} | ${shown(memory[kind].heap)}`,
    )
    return [`| ${state} | ${cells.join(' | ')} |`]
  })

/** Only what was measured. */
export const waitingTable = (): string => {
  const tables = [
    {
      head: '| | stream, resident KiB | of it heap | long poll, resident KiB | of it heap |\n|---|---|---|---|---|',
      rows: memoryRows(),
    },
    {
      head: '| | clients | CPU: API | PostgreSQL | changes received per second | others: p50, ms | p99, ms | p99, compared with no clients |\n|---|---|---|---|---|---|---|---|',
      rows: windowRows(),
    },
  ]
  return tables
    .filter(({ rows }) => rows.length > 0)
    .map(({ head, rows }) => [head, ...rows].join('\n'))
    .join('\n\n')
}

/** Undefined if nothing was measured yet. */
export const waitingChart = (): string | undefined => {
  const bars: Bar[] = states.flatMap((state) => {
    const figures = results[state]?.figures
    if (figures === undefined) return []
    return kindsOf(figures)
      .filter(({ streams, polls }) => streams + polls > 0)
      .map((kind) => {
        const part = (name: string) => meanOf(figures, kind, ({ busy }) => 1000 * (busy[name] ?? 0))
        const clients = [...(kind.streams > 0 ? ['streams'] : []), ...(kind.polls > 0 ? ['polls'] : [])]
        const label = `${clients.join(', ')}${kind.isChanging ? ', changes' : ''}: ${state}`
        return { label, parts: { api: part('api'), postgres: part('postgres') } }
      })
  })
  return bars.length === 0
    ? undefined
    : stackedBars(
        'CPU per second while clients wait',
        'ms',
        bars.toSorted((a, b) => (a.label < b.label ? 1 : -1)),
      )
}
