/**
 * Upgrades a running service from the previous version to this one, and prints what happened to its tasks and streams.
 * `--quick` is the short form that CI runs. `--from` names the revision to upgrade from; by default it is the first parent
 * of the last commit.
 */
import { spawn } from 'node:child_process'
import { parseArgs } from 'node:util'

const { values } = parseArgs({
  options: { quick: { type: 'boolean', default: false }, from: { type: 'string' } },
})
// At full length one file runs at a time, so that others do not disturb its figures.
const alone = values.quick ? [] : ['--no-file-parallelism']
// npm scripts have vitest in their path.
const run = spawn('vitest', ['run', '--project', 'upgrade', ...alone], {
  stdio: 'inherit',
  env: {
    ...process.env,
    ...(!values.quick && { PROVE_UPGRADE: 'full' }),
    ...(values.from !== undefined && { UPGRADE_FROM: values.from }),
  },
})
run.on('exit', (code) => (process.exitCode = code ?? 1))
