/** Runs the attack tests against a real API and prints one line of figures for each. `--quick` is the short form. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    // Skips the runs without admission control.
    guarded: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const reporter = fileURLToPath(new URL('../gateway/test/attacks/print-attacks.ts', import.meta.url))
const name = [...(values.guarded ? ['with default settings'] : []), ...positionals].join('.*')
const chosen = name === '' ? [] : ['-t', name]
const folder = 'gateway/test/attacks'
// npm scripts have vitest in their path.
const run = spawn('vitest', ['run', '--project', 'measures', '--reporter', reporter, folder, ...chosen], {
  stdio: 'inherit',
  env: {
    ...process.env,
    PROVE_ATTACKS: values.quick ? 'quick' : 'full',
    PROVE_ATTACKS_NAMED: positionals.join(' '),
  },
})
run.on('exit', (code) => (process.exitCode = code ?? 1))
