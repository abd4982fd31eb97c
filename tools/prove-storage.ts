/**
 * Proves one property of the media storage at full length: `npm run prove:storage -- migrate`. More parameters are passed to its
 * commands.
 */
import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'

interface Command {
  title: string
  line: string[]
  environment?: Record<string, string>
}

const vitest = ['vitest', 'run']
const operations = [...vitest, '--project', 'operations', '--reporter', 'dot']
const limits = ['--testTimeout=3600000', '--hookTimeout=600000']

const scenarios: Record<string, Command[]> = {
  // Every operation does the same wherever media is. gateway/test/kit/disk-only.ts names the tests that are skipped in S3.
  media: [
    { title: 'Operations with media on disk', line: operations },
    { title: 'Operations with media in S3', line: operations, environment: { TEST_MEDIA_STORE: 's3' } },
  ],
  migrate: [
    {
      title: 'A migration while customers use the service',
      line: [...vitest, '--project', 'storage', ...limits, 'gateway/test/storage/migrate-service.test.ts'],
      environment: { PROVE_STORAGE: 'full' },
    },
  ],
  large: [
    {
      title: 'A result of 2 GB',
      line: [...vitest, '--project', 'long', 'gateway/test/storage/large-results.test.ts'],
    },
  ],
}

const { positionals } = parseArgs({ allowPositionals: true })
const [name = '', ...more] = positionals
const commands = scenarios[name]
if (commands === undefined) throw new Error(`Name one of: ${Object.keys(scenarios).join(', ')}.`)
for (const { title, line, environment } of commands) {
  process.stdout.write(`\n${title}\n`)
  const [program = '', ...parameters] = [...line, ...more]
  // npm scripts have vitest in their path.
  const { status } = spawnSync(program, parameters, {
    stdio: 'inherit',
    env: { ...process.env, ...environment },
  })
  if (status !== 0) process.exitCode = 1
}
