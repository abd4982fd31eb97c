/**
 * Runs the fault tests against the whole service and prints one line of figures for each. `--quick` is the short form that
 * CI runs. `--faults` and `--tasks` cause that many faults in a row, in an order that `--seed` decides.
 */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    // Skips the runs without one of the guards.
    guarded: { type: 'boolean', default: false },
    // The faults of a bucket, which have a stack of their own.
    bucket: { type: 'boolean', default: false },
    faults: { type: 'string', default: '0' },
    tasks: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
  },
  allowPositionals: true,
})
const [faults, tasks, seed] = [values.faults, values.tasks, values.seed].map((text) => {
  if (/^\d+$/.test(text)) return Number(text)
  throw new Error(`--faults, --tasks and --seed must be whole numbers, got "${text}"`)
})
const isSeries = faults !== 0
const reporter = fileURLToPath(new URL('../gateway/test/faults/print-faults.ts', import.meta.url))
const name = [...(values.guarded ? ['with every guard'] : []), ...positionals].join('.*')
const chosen = name === '' ? [] : ['-t', name]
const part = values.bucket ? 'bucket-faults' : isSeries ? 'series' : 'faults'
const file = `gateway/test/faults/${part}.test.ts`
// npm scripts have vitest in their path.
const limits = ['--testTimeout=1800000', '--hookTimeout=1800000']
const run = spawn(
  'vitest',
  [
    'run',
    '--project',
    values.bucket ? 'long' : 'journeys',
    ...limits,
    '--reporter',
    reporter,
    file,
    ...chosen,
  ],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      ...(!values.quick && { PROVE_FAULTS: 'full' }),
      ...(isSeries && { PROVE_FAULTS_SERIES: JSON.stringify({ faults, tasks, seed }) }),
    },
  },
)
run.on('exit', (code) => (process.exitCode = code ?? 1))
