/**
 * Measures several arms in turns, so that what changes on the machine meanwhile affects all of them. The first round only
 * warms up. A measurement during which the host withheld much of the processor is repeated.
 */
import { startStealShare } from './cpu-time.ts'
import { median, spreadOf, type Figures, type Spread } from './figures.ts'

export type Arms<Name extends string> = Record<Name, () => Promise<Figures>>
export type Rounds<Name extends string = string> = Record<Name, Figures[]>

const stealMax = 0.1
const triesMax = 4

/** The measurement during which least was withheld. */
const measureQuietly = async (measure: () => Promise<Figures>): Promise<Figures> => {
  let best: Figures | undefined
  for (let tries = 0; tries < triesMax; tries += 1) {
    const steal = startStealShare()
    const figures = { ...(await measure()), steal: steal() }
    if (best === undefined || figures.steal < (best['steal'] ?? 1)) best = figures
    if (figures.steal <= stealMax) break
  }
  return best ?? {}
}

export const measureInTurns = async <Name extends string>(
  arms: Arms<Name>,
  rounds: number,
): Promise<Rounds<Name>> => {
  const names = Object.keys(arms) as Name[]
  const measured = Object.fromEntries(names.map((name) => [name, [] as Figures[]])) as Rounds<Name>
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of round % 2 === 0 ? names : names.toReversed()) {
      const figures = await measureQuietly(arms[name])
      if (round > 0) measured[name].push(figures)
    }
  }
  return measured
}

const figureOf = (round: Figures | undefined, name: string) => round?.[name] ?? Number.NaN

/** The ratio of a figure to that of the baseline in the same round. */
export const ratioOf = (ours: Figures[], baseline: Figures[], name: string): Spread =>
  spreadOf(ours.map((round, index) => figureOf(round, name) / figureOf(baseline[index], name)))

export const mediansOf = (rounds: Figures[]): Figures =>
  Object.fromEntries(
    Object.keys(rounds[0] ?? {}).map((name) => [name, median(rounds.map((round) => figureOf(round, name)))]),
  )
