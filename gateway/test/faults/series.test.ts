/** The long form: many faults and tasks, in pieces with a stack each. `npm run prove:faults -- --faults 100 --tasks 50000` */
import { expect, test } from 'vitest'

import { startFaultStack } from './fault-stack.ts'
import { mediaDiskProblem } from './media-disk.ts'
import { addFigures, chooseFaults, runSeries, showFigures, type SeriesFigures } from './run-series.ts'

interface Plan {
  faults: number
  tasks: number
  /** Decides about the order of the faults. */
  seed: number
}

const faultsPerPiece = 20

const plan = JSON.parse(process.env['PROVE_FAULTS_SERIES'] ?? '{"faults":0,"tasks":0,"seed":0}') as Plan
const names = chooseFaults(plan.faults, plan.seed)
const pieces = Array.from({ length: Math.ceil(plan.faults / faultsPerPiece) }, (_, index) =>
  names.slice(index * faultsPerPiece, (index + 1) * faultsPerPiece),
)

test('faults are chosen evenly, and in the same order for the same seed', () => {
  const chosen = chooseFaults(200, 1)
  expect(chooseFaults(200, 1)).toEqual(chosen)
  expect(chooseFaults(200, 2)).not.toEqual(chosen)
  const counts = [...Map.groupBy(chosen, (name) => name).values()].map(({ length }) => length)
  expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1)
})

const done: SeriesFigures[] = []

test.for(pieces.map((piece, index) => ({ piece, number: index + 1 })))(
  `piece $number of ${pieces.length} does no damage`,
  { timeout: 3_600_000 },
  async ({ piece, number }, { task }) => {
    if (mediaDiskProblem !== undefined) throw new Error(mediaDiskProblem)
    await using stack = await startFaultStack({ hasMediaDisk: true })
    const tasks = Math.ceil((plan.tasks * piece.length) / plan.faults)
    const { figures, problems, examples } = await runSeries(stack, piece, tasks, (line) =>
      process.stderr.write(`${line}\n`),
    )
    done.push(figures)
    task.meta.fault = {
      line: `piece ${number} of ${pieces.length}\n${showFigures(figures)}`,
      examples: problems.length > 0 ? [...problems, ...examples] : [],
    }
    expect(problems).toEqual([])
  },
)

test.for(pieces.length > 0 ? [pieces.length] : [])('all %d pieces together', (count, { task }) => {
  task.meta.fault = { line: `all pieces\n${showFigures(addFigures(done))}`, examples: [] }
  expect(done).toHaveLength(count)
})
