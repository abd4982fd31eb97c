/**
 * Runs the benchmarks, all or those that are named, and updates docs/performance.md.
 *
 *   npm run bench                       everything, some hours; needs Ceph
 *   npm run bench -- requests life      some of them
 *   npm run bench -- --quick            only the counts of statements, row writes and invocations, as in CI
 *   npm run bench -- --short requests   a moment of each, to see that it works; the figures are not kept
 *   npm run bench -- --profile life     also prints where each process spends its time; the figures are not kept
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import { summarizeProfiles } from '../bench/measure/profile.ts'

const { values, positionals } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    short: { type: 'boolean', default: false },
    profile: { type: 'boolean', default: false },
  },
  allowPositionals: true,
})
const run = async (command: string, given: string[], environment: Record<string, string> = {}) => {
  // npm scripts have the commands of the dependencies in their path.
  const child = spawn(command, given, { stdio: 'inherit', env: { ...process.env, ...environment } })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) process.exit(code ?? 1)
}
const profiles = values.profile ? await mkdtemp(join(tmpdir(), 'kinora-profiles-')) : undefined
const files = positionals.length === 0 ? ['bench/'] : positionals.map((name) => `bench/${name}`)
const counts = positionals.length === 0 || values.quick ? ['--project', 'journeys'] : []
const times = values.quick ? [] : ['--project', 'long', '--no-file-parallelism']
await run('vitest', ['run', ...counts, ...times, ...files], {
  ...(values.short && { BENCH_SHORT: '1' }),
  ...(profiles !== undefined && { BENCH_PROFILE: profiles }),
})
if (profiles !== undefined)
  console.log(await summarizeProfiles(profiles), `\nThe profiles are in ${profiles}`)
else if (!values.quick && !values.short) {
  await run('oxfmt', ['docs/performance'])
  await run('npm', ['run', 'generate'])
}
