/**
 * Runs the service on many machines, as network namespaces of this one, and causes faults while customers use it. Prints one
 * line of figures for each. `--quick` is the short form; words choose faults by a part of their names. `--pgbouncer` proves that the
 * database may be behind PgBouncer instead. Needs root, Linux, and
 * `apt-get install --no-install-recommends haproxy nftables iproute2 mmdebstrap redis-server postgresql-15 radosgw ceph-mon ceph-osd`.
 * PGBOUNCER_ROOT names a directory with Debian 13 and its pgbouncer, to skip its installation.
 */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'

const { values, positionals } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    pgbouncer: { type: 'boolean', default: false },
    from: { type: 'string' },
  },
  allowPositionals: true,
})
const run = promisify(execFile)
const own = await mkdtemp(join(tmpdir(), 'kinora-prove-cluster-'))
const cleanup = join(own, 'network.json')

/** Removes the machines of a run that was killed. Its processes have ended with it. */
const removeLeftovers = async (): Promise<void> => {
  const text = await readFile(cleanup, 'utf8').catch(() => undefined)
  if (text === undefined) return
  const { bridge, directory } = JSON.parse(text) as { bridge: string; directory: string }
  const { stdout } = await run('ip', ['netns', 'list'])
  for (const name of stdout.match(/^\S+/gm) ?? []) {
    if (!name.startsWith(`${bridge}-`)) continue
    const { stdout: pids } = await run('ip', ['netns', 'pids', name])
    for (const pid of pids.match(/\d+/g) ?? []) process.kill(Number(pid), 'SIGKILL')
    await run('ip', ['netns', 'delete', name])
  }
  await run('ip', ['link', 'delete', bridge]).catch(() => undefined)
  if (process.env['KEEP_STACKS'] === undefined) await rm(directory, { recursive: true, force: true })
}

/** The PgBouncer of Debian 12 has no prepared statements. */
const installPgBouncer = async (): Promise<string> => {
  const given = process.env['PGBOUNCER_ROOT']
  if (given !== undefined) return given
  const root = join(own, 'debian')
  console.log('Installing pgbouncer of Debian 13 into a directory…')
  await run('mmdebstrap', ['--quiet', '--variant=minbase', '--include=pgbouncer', 'trixie', root])
  return root
}
const pgbouncerRoot = values.pgbouncer ? await installPgBouncer() : undefined

// Ctrl-C reaches the tests as well; this process waits for their end and cleans up.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => tests.kill(signal))
const reporter = fileURLToPath(new URL('../gateway/test/faults/print-faults.ts', import.meta.url))
const chosen = positionals.length === 0 ? [] : ['-t', positionals.join('|')]
// npm scripts have vitest in their path.
const tests = spawn(
  'vitest',
  [
    ...(['run', '--project', 'cluster', '--reporter', reporter] as const),
    ...[`gateway/test/cluster/${values.pgbouncer ? 'pgbouncer' : 'cluster'}.test.ts`, ...chosen],
  ],
  {
    stdio: 'inherit',
    env: {
      ...process.env,
      PROVE_CLUSTER: values.quick ? 'quick' : 'full',
      CLUSTER_CLEANUP: cleanup,
      ...(pgbouncerRoot !== undefined && { PGBOUNCER_ROOT: pgbouncerRoot }),
      ...(values.from !== undefined && { UPGRADE_FROM: values.from }),
    },
  },
)
const [code] = (await once(tests, 'exit')) as [number | null]
await removeLeftovers()
await rm(own, { recursive: true, force: true })
process.exitCode = code ?? 1
