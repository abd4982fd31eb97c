/**
 * Runs the speech and recognition tests of the built-in provider and prints transcripts and times. `--quick` is the short
 * form that CI runs. Arguments select test files by name.
 */
import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const projects = ['--project', 'journeys', ...(values.quick ? [] : ['--project', 'long'])]
const files =
  positionals.length > 0
    ? positionals
    : ['local/src/recognition', 'local/src/speech', 'gateway/test/journeys/voices.test.ts']
// One file at a time, because the tests measure time. npm scripts have vitest in their path.
const run = spawn('vitest', ['run', ...projects, '--no-file-parallelism', ...files], {
  stdio: 'inherit',
  env: { ...process.env, ...(!values.quick && { PROVE_SOUND: 'full' }) },
})
run.on('exit', (code) => (process.exitCode = code ?? 1))
