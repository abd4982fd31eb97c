/**
 * `npm run prove:console`: what many open consoles cost, how 10,000 tasks scroll, the time to a first video in the browser, and
 * the tests of all screens. `-- pictures` also takes the pictures of docs/console.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'

const runs: [string, string[]][] = [['vitest', ['run', '--project', 'console']]]
if (process.argv.includes('pictures')) runs.push([process.execPath, ['tools/console-pictures.ts']])
for (const [program, given] of runs) {
  const run = spawn(program, given, { stdio: 'inherit', env: { ...process.env, PROVE_CONSOLE: 'true' } })
  const [code] = (await once(run, 'exit')) as [number | null]
  process.exitCode ||= code ?? 1
}
