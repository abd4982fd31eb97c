/** `npm run bench:life` */
import { expect, test } from 'vitest'

import { measureLife, type Figures } from './life.ts'

const options = {
  tasks: Number(process.env['BENCH_TASKS'] ?? 1_000),
  rounds: Number(process.env['BENCH_ROUNDS'] ?? 5),
  idleMs: 30_000,
}

const format = (value: number) => (value >= 100 ? value.toFixed(0) : value.toPrecision(3))

/** The median of the rounds, with the smallest and the largest value. */
const summaryOf = (rounds: Figures[], name: string): string => {
  const values = rounds.map((round) => round[name] ?? Number.NaN).toSorted((a, b) => a - b)
  const [least = 0, middle = 0, most = 0] = [0, Math.floor(values.length / 2), values.length - 1].map(
    (index) => values[index],
  )
  return values.length === 1 ? format(middle) : `${format(middle)} (${format(least)}–${format(most)})`
}

const print = (title: string, rounds: Figures[]) => {
  const names = Object.keys(rounds[0] ?? {})
  console.log([title, ...names.map((name) => `  ${name.padEnd(18)} ${summaryOf(rounds, name)}`)].join('\n'))
}

test('the cost of a video and of a bare workflow', async () => {
  const { kinora, bare, idle } = await measureLife(options)
  print(`video, per task (CPU in ms), ${options.rounds} rounds of ${options.tasks}`, kinora)
  print('bare workflow, per task (CPU in ms)', bare)
  print('idle, share of one processor', [idle])
  for (const round of [...kinora, ...bare]) {
    for (const [name, value] of Object.entries(round)) expect(value, name).toBeGreaterThanOrEqual(0)
    expect(round['restate']).toBeGreaterThan(0)
  }
  for (const { invocations } of kinora) expect(invocations).toBeGreaterThanOrEqual(1)
})
