/**
 * Runs the speech and recognition tests of the built-in provider and prints transcripts and times. `--quick` is the short
 * form, of which CI runs one file. Arguments select test files by name.
 */
import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({
  options: { quick: { type: 'boolean', default: false } },
  allowPositionals: true,
})
const quick = [
  'local/src/recognition/translation.test.ts',
  'local/src/recognition/whisper',
  'local/src/speech/spoken-sentences.test.ts',
]
const all = ['local/src/recognition', 'local/src/speech', 'gateway/test/journeys/voices.test.ts']
const files = positionals.length > 0 ? positionals : values.quick ? quick : all
// One file at a time, because the tests measure time. npm scripts have vitest in their path.
const projects = ['--project', 'journeys', '--project', 'long']
const run = spawn('vitest', ['run', ...projects, '--no-file-parallelism', ...files], {
  stdio: 'inherit',
  env: { ...process.env, ...(!values.quick && { PROVE_SOUND: 'full' }) },
})
run.on('exit', (code) => (process.exitCode = code ?? 1))
