/** Causes many faults, one after the other, while customers use the same stack all the time; then judges everything. */
import { setTimeout as sleep } from 'node:timers/promises'

import { startClient } from './client.ts'
import { modelNames, type FaultStack } from './fault-stack.ts'
import { faultNames, faults, type FaultName } from './faults.ts'
import { judge, type Damage } from './judge.ts'
import { until } from './part.ts'
import { beginsWithinMs, causeFault, damageNames, seconds, windDown } from './run-fault.ts'
import { findStalls } from './stalls.ts'

/** The figures of a series; those of several series add up. */
export interface SeriesFigures {
  faults: number
  tasks: number
  damage: Damage
  retried: number
  worstRecoveryMs: number
  longestOutageMs: number
  tookMs: number
}

export interface SeriesResult {
  figures: SeriesFigures
  /** What went wrong, with the name of the fault. */
  problems: string[]
  examples: string[]
}

const stuckAfterMs = 240_000
/** More than the service completes, so that it is always busy; customers wait when too many tasks are open. */
const createsPerSecond = 40
const openTasksMax = 160
const completedBefore = 40

/** A repeatable sequence of numbers from 0 to 1 (mulberry32). */
const randomFrom = (seed: number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** The faults in a random order, each as often as any other. */
export const chooseFaults = (count: number, seed: number): FaultName[] => {
  const random = randomFrom(seed)
  const short = faultNames.filter((name) => faults[name].isLong !== true)
  const chosen: FaultName[] = []
  while (chosen.length < count) {
    const round = short
      .map((name) => ({ name, rank: random() }))
      .toSorted((one, other) => one.rank - other.rank)
    chosen.push(...round.map(({ name }) => name))
  }
  return chosen.slice(0, count)
}

export const runSeries = async (
  stack: FaultStack,
  names: FaultName[],
  tasks: number,
  onFault: (line: string) => void,
): Promise<SeriesResult> => {
  const startedAtMs = Date.now()
  const client = await startClient(stack, { createsPerSecond, openTasksMax, models: modelNames })
  const countConfirmed = () => client.creates.filter(({ taskId }) => taskId !== undefined).length
  const problems: string[] = []
  let worstRecoveryMs = 0
  let longestOutageMs = 0
  try {
    await until('the first tasks are completed', () => countConfirmed() >= completedBefore, {
      withinMs: beginsWithinMs,
    })
    for (const [index, name] of names.entries()) {
      const figures = await causeFault(stack, client, faults[name], {
        ...{ stuckAfterMs, judgesTimes: true, withUnknown: false },
      })
      const { recoveryMs = stuckAfterMs, outageMs, retried } = figures
      worstRecoveryMs = Math.max(worstRecoveryMs, recoveryMs)
      longestOutageMs = Math.max(longestOutageMs, outageMs)
      problems.push(...figures.problems.map((problem) => `${name}: ${problem}`))
      const share = (index + 1) / names.length
      while (countConfirmed() < tasks * share) await sleep(100)
      onFault(
        `${name.padEnd(26)}  ${countConfirmed()} tasks after ${seconds(Date.now() - startedAtMs)} s  ` +
          `creates retried ${retried}, none confirmed for ${seconds(outageMs)} s  ` +
          `recovered in ${seconds(recoveryMs)} s  ${figures.problems.join(', ') || 'ok'}`,
      )
    }
    await windDown(stack, client, stuckAfterMs)
  } finally {
    await client.end()
  }
  const stalls = await findStalls(stack, startedAtMs)
  const { damage, tasks: judged, examples } = await judge(stack, client, { crashes: stack.crashes })
  const damaged = Object.entries(damage).filter(([, count]) => count > 0)
  return {
    figures: {
      ...{ faults: names.length, tasks: judged, damage, worstRecoveryMs, longestOutageMs },
      retried: client.creates.filter(({ attempts }) => attempts > 1).length,
      tookMs: Date.now() - startedAtMs,
    },
    problems: [
      ...damaged.map(([name, count]) => `${damageNames[name as keyof Damage]} ${count}`),
      ...problems,
      ...(stalls.length > 0 ? ['invalid'] : []),
    ],
    examples: [...stalls, ...examples],
  }
}

export const addFigures = (all: SeriesFigures[]): SeriesFigures => {
  const sum = (valueOf: (figures: SeriesFigures) => number) =>
    all.reduce((total, figures) => total + valueOf(figures), 0)
  const names = Object.keys(damageNames) as (keyof Damage)[]
  return {
    faults: sum(({ faults: count }) => count),
    tasks: sum(({ tasks }) => tasks),
    damage: Object.fromEntries(
      names.map((name) => [name, sum(({ damage }) => damage[name])]),
    ) as unknown as Damage,
    retried: sum(({ retried }) => retried),
    worstRecoveryMs: Math.max(...all.map((each) => each.worstRecoveryMs)),
    longestOutageMs: Math.max(...all.map((each) => each.longestOutageMs)),
    tookMs: sum(({ tookMs }) => tookMs),
  }
}

/** A table of two rows. */
export const showFigures = (figures: SeriesFigures): string => {
  const cells: [string, string][] = [
    ['faults', String(figures.faults)],
    ['tasks', String(figures.tasks)],
    ...Object.entries(figures.damage).map(([name, count]): [string, string] => [
      damageNames[name as keyof Damage],
      String(count),
    ]),
    ['worst recovery', `${seconds(figures.worstRecoveryMs)} s`],
    ['longest outage', `${seconds(figures.longestOutageMs)} s`],
    ['creates retried', String(figures.retried)],
    ['took', `${Math.round(figures.tookMs / 1_000)} s`],
  ]
  const row = (at: 0 | 1) =>
    cells.map((cell) => cell[at].padStart(Math.max(cell[0].length, cell[1].length))).join('  ')
  return `${row(0)}\n${row(1)}`
}
