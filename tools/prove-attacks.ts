/** Attacks a real API and prints a line of figures for each attack; `--quick` is the short form that CI runs too. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    // Leaves out the runs without admission control.
    guarded: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const reporter = fileURLToPath(new URL('../gateway/test/attacks/print-attacks.ts', import.meta.url))
const name = [...(values.guarded ? ['with default settings'] : []), ...positionals].join('.*')
const chosen = name === '' ? [] : ['-t', name]
// npm's scripts have it in their path.
const run = spawn('vitest', ['run', '--project', 'attacks', '--reporter', reporter, ...chosen], {
  stdio: 'inherit',
  env: { ...process.env, ...(!values.quick && { PROVE_ATTACKS: 'full' }) },
})
run.on('exit', (code) => (process.exitCode = code ?? 1))
