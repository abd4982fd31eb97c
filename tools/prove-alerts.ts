/**
 * Causes faults in a running service that Prometheus and Alertmanager watch, and prints when each alert fired and cleared. Needs
 * root and the Debian packages prometheus and prometheus-alertmanager. A name of an alert runs only its fault.
 */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const reporter = fileURLToPath(new URL('../gateway/test/alerts/print-alerts.ts', import.meta.url))
const file = 'gateway/test/alerts/alerts.test.ts'
const [name] = process.argv.slice(2)
const chosen = name === undefined ? [] : ['-t', name]
// npm scripts have vitest in their path.
const run = spawn('vitest', ['run', '--project', 'long', '--reporter', reporter, file, ...chosen], {
  stdio: 'inherit',
})
run.on('exit', (code) => (process.exitCode = code ?? 1))
