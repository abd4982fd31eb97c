/** Runs the tests of vendor misbehaviour and prints one line for each. `--quick` is the short form; CI runs most of it. */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const reporter = fileURLToPath(new URL('../gateway/test/vendors/print-lines.ts', import.meta.url))
// At full length one file runs at a time, so that others do not disturb its figures.
const alone = values.quick ? [] : ['--no-file-parallelism']
const files =
  positionals.length > 0
    ? positionals
    : ['gateway/test/vendors', 'gateway/test/conformance/conformance.test.ts']
// npm scripts have vitest in their path.
const projects = ['--project', 'journeys', '--project', 'long']
const run = spawn('vitest', ['run', ...projects, '--reporter', reporter, ...alone, ...files], {
  stdio: 'inherit',
  env: { ...process.env, ...(!values.quick && { PROVE_VENDORS: 'full' }) },
})
run.on('exit', (code) => (process.exitCode = code ?? 1))
