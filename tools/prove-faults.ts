/** Runs the fault tests against the whole service and prints one line of figures for each. `--quick` is the short form that CI runs. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    // Skips the runs without one of the guards.
    guarded: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const reporter = fileURLToPath(new URL('../gateway/test/faults/print-faults.ts', import.meta.url))
const name = [...(values.guarded ? ['with every guard'] : []), ...positionals].join('.*')
const chosen = name === '' ? [] : ['-t', name]
// npm scripts have vitest in their path.
const run = spawn('vitest', ['run', '--project', 'faults', '--reporter', reporter, ...chosen], {
  stdio: 'inherit',
  env: { ...process.env, ...(!values.quick && { PROVE_FAULTS: 'full' }) },
})
run.on('exit', (code) => (process.exitCode = code ?? 1))
