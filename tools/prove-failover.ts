/**
 * Lets the preferred providers of four models fail in different ways and recover, and draws who made the tasks meanwhile. `--quick`
 * is the short form that CI runs, without a chart. `--draw` only draws the stored figures again.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

import { sharesOverTime } from '../bench/report/chart.ts'
import type { FailoverFigures } from '../bench/report/failover-figures.ts'
import { readResult } from '../bench/report/results.ts'

interface Figures {
  repairedSeconds: number
  tasks: Record<string, FailoverFigures>
  calls: Record<string, FailoverFigures>
}

const faultNames: Record<string, string> = {
  '401': 'refused key (401)',
  '500': 'errors (500)',
  refused: 'refused connections',
  timeout: 'timeouts',
}

const draw = async (): Promise<void> => {
  const figures = readResult<Figures>('failover')?.figures
  if (figures === undefined) throw new Error('docs/performance/failover.json does not exist')
  const panelsOf = (works: Figures['tasks'], what: string) =>
    Object.entries(works).map(([fault, { shares }]) => ({
      label: `${what}: ${faultNames[fault] ?? fault}`,
      steps: shares.map(({ seconds, first, second, failed }) => ({
        seconds,
        shares: { preferred: first, fallback: second, 'failed calls': failed },
      })),
    }))
  const chart = sharesOverTime(
    'Share of each provider by creation time, while the preferred one fails and is repaired',
    [...panelsOf(figures.tasks, 'tasks'), ...panelsOf(figures.calls, 'calls')],
    5,
    [
      { seconds: 0, label: 'fails' },
      { seconds: figures.repairedSeconds, label: 'repaired' },
      { seconds: figures.repairedSeconds + 60, label: '+60 s' },
    ],
  )
  await writeFile(new URL('../docs/performance/failover.svg', import.meta.url), chart)
}

/** Returns the exit code of the tests. */
const runTests = async (isQuick: boolean): Promise<number> => {
  const reporter = fileURLToPath(new URL('../gateway/test/vendors/print-lines.ts', import.meta.url))
  const test = fileURLToPath(new URL('../gateway/test/vendors/failover.test.ts', import.meta.url))
  // npm scripts have vitest in their path.
  const run = spawn('vitest', ['run', '--project', 'journeys', '--reporter', reporter, test], {
    stdio: 'inherit',
    env: { ...process.env, ...(!isQuick && { PROVE_FAILOVER: 'full' }) },
  })
  const [code] = (await once(run, 'exit')) as [number | null]
  return code ?? 1
}

const option = { type: 'boolean', default: false } as const
const { values } = parseArgs({ options: { quick: option, draw: option } })
process.exitCode = values.draw ? 0 : await runTests(values.quick)
if (process.exitCode === 0 && !values.quick) await draw()
