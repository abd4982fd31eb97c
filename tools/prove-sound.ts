/**
 * Speaks and hears with the built-in provider, and prints what was understood and how long it took; `--quick` is the
 * short form that CI runs too. Names of test files choose some of them.
 */
import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const projects = ['--project', 'sound', ...(values.quick ? [] : ['--project', 'long-sound'])]
// One file after the other, because times are measured. npm's scripts have vitest in their path.
const run = spawn('vitest', ['run', ...projects, '--no-file-parallelism', ...positionals], {
  stdio: 'inherit',
  env: { ...process.env, ...(!values.quick && { PROVE_SOUND: 'full' }) },
})
run.on('exit', (code) => (process.exitCode = code ?? 1))
