/** The units in deploy/systemd: valid, restricted, and in agreement with the settings and compose.yaml. */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { settings } from '@kinora/gateway/config'
import { afterAll, beforeAll, expect, test } from 'vitest'

import { repeatForMs } from '../../gateway/src/platform/while-unavailable.ts'
import { compose, root } from './manifests.ts'

const folder = join(root, 'deploy/systemd')
const services = readdirSync(folder).filter((name) => name.endsWith('.service'))
const decoding = ['api', 'worker', 'local']
const fileOf = (role: string) => `kinora-${role}.service`
const isInstalled = spawnSync('systemd-analyze', ['--version']).status === 0

/** The settings of a unit and of the drop-in for all units; a setting may have several values. */
const read = (...files: string[]): Record<string, string[]> => {
  const values: Record<string, string[]> = {}
  for (const file of files)
    for (const [, name = '', value = ''] of readFileSync(join(folder, file), 'utf8').matchAll(
      /^([A-Z]\w+)=(.*)$/gm,
    ))
      (values[name] ??= []).push(value)
  return values
}
const unit = (role: string) => read(fileOf(role), 'kinora-.service.d/hardening.conf')
const value = (role: string, name: string): string => unit(role)[name]?.join(' ') ?? ''

/** The variables of `Environment=`, of which one line may have several. */
const environmentOf = (role: string): Record<string, string> =>
  Object.fromEntries(
    (read(fileOf(role))['Environment'] ?? [])
      .flatMap((line) => line.match(/"[^"]*"|\S+/g) ?? [])
      .map((each) => each.replaceAll('"', '').split('=', 2) as [string, string]),
  )

/** The units with the paths of this clone, because the programs must exist. */
let copy: string
beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), 'kinora-systemd-'))
  cpSync(folder, copy, { recursive: true })
  for (const name of services) {
    const text = readFileSync(join(copy, name), 'utf8')
    writeFileSync(join(copy, name), text.replaceAll('/opt/kinora', root))
  }
})
afterAll(() => rmSync(copy, { recursive: true, force: true }))

test.skipIf(!isInstalled)('systemd accepts the units', () => {
  const files = [...services, 'kinora.target'].map((name) => join(copy, name))
  const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...files], {
    encoding: 'utf8',
  })
  expect([status, stderr]).toEqual([0, ''])
})

test.skipIf(!isInstalled)('systemd finds a misspelled setting', () => {
  const file = join(copy, 'kinora-misspelled.service')
  writeFileSync(file, `${readFileSync(join(copy, fileOf('api')), 'utf8')}\n[Service]\nPrivateTmpp=true\n`)
  const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' })
  rmSync(file)
  expect(stderr).toMatch(/Unknown key.*'PrivateTmpp'/)
})

test.skipIf(!isInstalled).for(services)('the exposure of %s is low', (name) => {
  const output = execFileSync(
    'systemd-analyze',
    ['security', '--offline=yes', '--no-pager', join(copy, name)],
    { encoding: 'utf8' },
  )
  const score = Number(/exposure level for \S+: ([\d.]+)/.exec(output)?.[1])
  console.log(`${name}: exposure ${score}`)
  // Namespaces and mounts for the sandbox cost one point.
  const mayCreateNamespaces = decoding.some((role) => name === fileOf(role))
  expect(score).toBeLessThanOrEqual(mayCreateNamespaces ? 2.8 : 1.8)
})

/** System calls with which bubblewrap sets up the sandbox. */
const sandboxCalls = ['clone', 'unshare', 'mount', 'umount2', 'pivot_root', 'prctl', 'capset', 'symlink']

const systemCallsOf = (sets: string): string[] =>
  sets.split(' ').flatMap((name) => {
    if (!name.startsWith('@')) return [name]
    const output = execFileSync('systemd-analyze', ['syscall-filter', name], { encoding: 'utf8' })
    const members = output.split('\n').flatMap((line) => /^ {4}(@?\w[\w-]*)$/.exec(line)?.[1] ?? [])
    return members.flatMap((member) => systemCallsOf(member))
  })

test.skipIf(!isInstalled).for(services)(
  '%s may set up the sandbox if, and only if, it decodes media',
  (name) => {
    const role = name.slice('kinora-'.length, -'.service'.length)
    const filters = unit(role)['SystemCallFilter'] ?? []
    const denied = filters.flatMap((each) => (each.startsWith('~') ? systemCallsOf(each.slice(1)) : []))
    const allowed = filters
      .flatMap((each) => (each.startsWith('~') ? [] : systemCallsOf(each)))
      .filter((call) => !denied.includes(call))
    for (const call of ['keyctl', 'bpf', 'ptrace', 'init_module', 'reboot', 'kexec_load', 'userfaultfd'])
      expect(allowed).not.toContain(call)
    const isDecoding = decoding.includes(role)
    expect(sandboxCalls.every((call) => allowed.includes(call))).toBe(isDecoding)
    // All that `bwrap --unshare-all` creates.
    const namespaces = isDecoding ? 'cgroup ipc mnt net pid user uts' : 'true'
    expect(value(role, 'RestrictNamespaces')).toBe(namespaces)
    // bubblewrap brings up the loopback interface of the sandbox with netlink.
    expect(value(role, 'RestrictAddressFamilies')).toContain('AF_NETLINK')
  },
)

test.for([...decoding, 'migrate'])('every environment variable of %s is a setting', (role) => {
  for (const [name, given] of Object.entries(environmentOf(role))) {
    expect(Object.keys(settings)).toContain(name)
    settings[name as keyof typeof settings].read(given)
  }
})

const exampleEnvironment = () =>
  [...readFileSync(join(folder, 'kinora.env.example'), 'utf8').matchAll(/^(\w+)=(.*)$/gm)].map(
    ([, name = '', given = '']) => [name, given] as const,
  )

test('the API, which only a proxy on the same machine reaches, trusts that proxy', () => {
  const given = Object.fromEntries(exampleEnvironment())
  expect([given['HOST'], environmentOf('api')['HOST']]).toEqual([undefined, undefined])
  expect(settings.TRUSTED_PROXIES.read(given['TRUSTED_PROXIES'] ?? '')).toEqual([settings.HOST.default])
})

test('every variable of the example environment file is a setting, and no secret has a value', () => {
  for (const [name, given] of exampleEnvironment()) {
    expect(Object.keys(settings)).toContain(name)
    if (/SECRETS|PASSWORD/.test(name)) expect(given).toBe('')
  }
})

test('the API, the workers and migrations read one environment file; the built-in provider gets no secrets', () => {
  for (const role of ['api', 'worker', 'migrate'])
    expect(value(role, 'EnvironmentFile')).toBe('/etc/kinora/kinora.env')
  expect(value('local', 'EnvironmentFile')).toBe('-/etc/kinora/local.env')
  const users = ['api', 'worker', 'migrate', 'local', 'restate'].map((role) => value(role, 'User'))
  expect(users).toEqual(['kinora', 'kinora', 'kinora', 'kinora-local', 'kinora-restate'])
  const created = readFileSync(join(folder, 'kinora.sysusers.conf'), 'utf8').matchAll(/^u (\S+)/gm)
  expect([...created].map(([, name]) => name)).toEqual([...new Set(users)])
})

test.for(decoding)('%s requires the sandbox and writes to its own state directory', (role) => {
  const { REQUIRE_SANDBOX, MEDIA_DIRECTORY, LOCAL_DIRECTORY } = environmentOf(role)
  expect(REQUIRE_SANDBOX).toBe('true')
  expect(MEDIA_DIRECTORY ?? LOCAL_DIRECTORY).toContain(`/var/lib/${value(role, 'StateDirectory')}/`)
  expect(value(role, 'ProtectSystem')).toBe('strict')
})

test.for(decoding)(
  '%s is killed only after DRAIN_SECONDS (a worker after it could record), and is not restarted with invalid settings',
  (role) => {
    const recordSeconds = role === 'worker' ? repeatForMs / 1_000 : 0
    expect(Number(value(role, 'TimeoutStopSec'))).toBeGreaterThan(
      Number(settings.DRAIN_SECONDS.default) + recordSeconds,
    )
    expect(unit(role)).toMatchObject({
      KillMode: ['mixed'],
      KillSignal: ['SIGTERM'],
      RestartPreventExitStatus: ['78'],
      Restart: ['always'],
    })
  },
)

test('the API may open two files for each connection', () => {
  expect(Number(value('api', 'LimitNOFILE'))).toBeGreaterThan(2 * Number(settings.LIMIT_CONNECTIONS.default))
})

test.for([...decoding, 'restate'])('%s has the limits of memory and processes of compose.yaml', (role) => {
  const { mem_limit = '', pids_limit } = compose.services[role] ?? {}
  expect(value(role, 'MemoryMax')).toBe(mem_limit.toUpperCase())
  expect(value(role, 'TasksMax')).toBe(String(pids_limit))
})

test('Restate has the settings of compose.yaml, listens on this machine only, and alone can read its key', () => {
  const { environment = {} } = compose.services['restate'] ?? {}
  const own = {
    RESTATE_BASE_DIR: '/var/lib/kinora-restate',
    RESTATE_BIND_IP: '127.0.0.1',
    RESTATE_ADVERTISED_HOST: '127.0.0.1',
    RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: '512 MiB',
    RESTATE_REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE: '%d/private.pem',
  }
  expect(environmentOf('restate')).toEqual({ ...environment, ...own })
  expect(value('restate', 'LoadCredential')).toBe('private.pem:/etc/kinora/identity/private.pem')
  expect(value('worker', 'LoadCredential')).toBe('public.key:/etc/kinora/identity/public.key')
})

test('each role serves its metrics at a port of its own, on this machine only', () => {
  const given = decoding.map((role) => environmentOf(role))
  expect(given.map((each) => each['METRICS_PORT'])).toEqual(['9464', '9465', '9466'])
  for (const each of given) expect(each).not.toHaveProperty('METRICS_HOST')
  expect(settings.METRICS_HOST.default).toBe('127.0.0.1')
})
