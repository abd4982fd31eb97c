/**
 * Starts a system under load and a Prometheus that scrapes it, and checks that every metric, and every query of the dashboards and
 * rules, returns something. Needs the Debian package prometheus.
 */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const reporter = fileURLToPath(new URL('../gateway/test/observability/print-queries.ts', import.meta.url))
const file = 'gateway/test/observability/observability.test.ts'
// npm scripts have vitest in their path.
const run = spawn('vitest', ['run', '--project', 'long', '--reporter', reporter, file], { stdio: 'inherit' })
run.on('exit', (code) => (process.exitCode = code ?? 1))
