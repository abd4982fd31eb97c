/** The table and chart of results by size and store. */
import type { Figures } from '../measure/figures.ts'
import { mediansOf } from '../measure/rounds.ts'
import type { MediaFigures, StoreKind } from '../media.ts'
import { stackedBars, type Bar } from './chart.ts'
import { readResult } from './results.ts'

const stores: StoreKind[] = ['disk', 's3']

const measured = () => stores.flatMap((store) => readResult<MediaFigures>(`media-${store}`)?.figures ?? [])

type Result = MediaFigures['results'][number]

const names = ['api', 'worker', 'restate', 'postgres', 'redis']

const digits = (value = Number.NaN) =>
  value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(value >= 10 ? 3 : 2)))

const nameOf = ({ megabytes, layout }: Result) => `${megabytes} MB, ${layout}`

const cpuOf = (rounds: Figures[]) => mediansOf(rounds)['cpu'] ?? Number.NaN

/** The aim is at most 1.5 of the bare copy besides the cost of a task with an empty result. */
const ratioOf = ({ empty }: MediaFigures, { rounds }: Result): number =>
  (cpuOf(rounds.kinora) - cpuOf(empty)) / cpuOf(rounds.bare)

/** What a task with a result of 8 MB costs more than one with an empty result, against a bare copy. */
export const mediaRatio = (store: StoreKind): number | undefined => {
  const figures = measured().find((each) => each.store === store)
  const result = figures?.results.find(({ megabytes, layout }) => megabytes === 8 && layout === 'tables last')
  return figures && result && ratioOf(figures, result)
}

const rowsOf = (figures: MediaFigures): string[] => {
  const emptyFigures = mediansOf(figures.empty)
  const empty = `| ${figures.store} | empty | ${digits(emptyFigures['per second'])} | ${digits(emptyFigures['cpu'])} | ${names.map((name) => digits(emptyFigures[name])).join(' | ')} | | | | ${digits(emptyFigures['peak MiB'])} |`
  const rows = figures.results.map((result) => {
    const { kinora, bare, curl } = result.rounds
    const ours = mediansOf(kinora)
    return `| ${figures.store} | ${nameOf(result)} | ${digits(ours['per second'])} | ${digits(ours['cpu'])} | ${names.map((name) => digits(ours[name])).join(' | ')} | ${digits(cpuOf(bare))} | ${digits(cpuOf(curl))} | ${digits(ratioOf(figures, result))}× | ${digits(ours['peak MiB'])} |`
  })
  return [empty, ...rows]
}

export const mediaTable = (): string =>
  [
    `| store | result | tasks per second | CPU of a task, ms | ${names.join(' | ')} | bare copy, ms | curl, ms | copy against bare | worker at most, MiB |`,
    `|---|---|---|---|${names.map(() => '---|').join('')}---|---|---|---|`,
    ...measured().flatMap(rowsOf),
  ].join('\n')

const barsOf = ({ store, results }: MediaFigures): Bar[] =>
  results.flatMap((result) => {
    const perMegabyte = (figures: Figures, name: string) => (figures[name] ?? 0) / (result.sizeBytes / 1e6)
    const ours = mediansOf(result.rounds.kinora)
    // The others are less than a pixel.
    const drawn = names.filter((name) => name !== 'redis')
    const parts = Object.fromEntries(drawn.map((name) => [name, perMegabyte(ours, name)]))
    const label = `${store}, ${result.megabytes} MB`
    const bare = { 'bare copy': perMegabyte(mediansOf(result.rounds.bare), 'cpu') }
    // The layout makes no difference to a bare copy.
    if (result.layout === 'tables first') return [{ label: `${label}, tables first`, parts }]
    return [
      { label, parts },
      { label: `${label}, bare copy`, parts: bare },
    ]
  })

/** Undefined before it was measured. */
export const mediaChart = (): string | undefined => {
  const bars = measured().flatMap(barsOf)
  return bars.length === 0 ? undefined : stackedBars('CPU of a task per megabyte of its result', 'ms', bars)
}
