import type { Figures } from '../measure/figures.ts'
import { spreadOf } from '../measure/figures.ts'
import type { Rounds } from '../measure/rounds.ts'

const format = (value: number) => (Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3))

/** The median of the rounds, with the smallest and the largest value. */
const summaryOf = (rounds: Figures[], name: string): string => {
  const { median, min, max } = spreadOf(rounds.map((round) => round[name] ?? Number.NaN))
  return rounds.length === 1 ? format(median) : `${format(median)} (${format(min)}–${format(max)})`
}

/** Prints the figures of every arm below a title. Processor time is in milliseconds. */
export const printRounds = (title: string, rounds: Rounds): void => {
  const lines = Object.entries(rounds).flatMap(([arm, figures]) => [
    ` ${arm}`,
    ...Object.keys(figures[0] ?? {}).map((name) => `  ${name.padEnd(18)} ${summaryOf(figures, name)}`),
  ])
  console.log([title, ...lines].join('\n'))
}
