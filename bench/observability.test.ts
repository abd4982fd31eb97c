/** `npm run bench -- observability` */
import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect, test } from 'vitest'

import { minutes } from '../gateway/test/kit/time-limits.ts'
import type { Rounds } from './measure/rounds.ts'
import { measureObservedLives, measureObservedRequests } from './observability.ts'
import { options } from './options.ts'
import { printRounds } from './report/print.ts'
import { writeResult } from './report/results.ts'

const settings = options(
  { rounds: 20, slices: 3, creates: 150, reads: 600, tasks: 25 },
  { rounds: 1, slices: 2, creates: 50, reads: 100, tasks: 10 },
)
const timeout = minutes(90)

const print = (name: string, rounds: Rounds) => {
  printRounds(name, rounds)
  for (const { cpu } of Object.values(rounds).flat()) expect(cpu).toBeGreaterThan(0)
}

test('the cost of metrics and traces for requests', { timeout }, async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-bench-'))
  const figures = await measureObservedRequests(settings, directory.path)
  for (const [name, rounds] of Object.entries(figures)) print(name, rounds)
  await writeResult('observed-requests', settings, figures)
})

test('the cost of metrics and traces for tasks', { timeout }, async () => {
  await using directory = await mkdtempDisposable(join(tmpdir(), 'kinora-bench-'))
  const figures = await measureObservedLives(settings, directory.path)
  print('life of a task', figures.life)
  printRounds('scrape', { api: [figures.scrape.api], worker: [figures.scrape.worker] })
  await writeResult('observed-life', settings, figures)
})
