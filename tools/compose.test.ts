/** The security properties of compose.yaml that are on by default. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect, test } from 'vitest'
import { parse } from 'yaml'

import { settings } from '../gateway/src/config.ts'
import { repeatForMs } from '../gateway/src/platform/while-unavailable.ts'

interface Service {
  environment?: Record<string, string>
  networks: string[]
  ports?: string[]
  security_opt: string[]
  cap_drop?: string[]
  read_only?: boolean
  mem_limit?: string
  pids_limit?: number
  cpus?: number | string
  logging?: { options?: Record<string, string> }
  volumes?: string[]
  env_file?: string
  profiles?: string[]
  restart: string
  stop_grace_period?: string
}

const root = join(import.meta.dirname, '..')
const text = readFileSync(join(root, 'compose.yaml'), 'utf8')
const { services, networks } = parse(text, { merge: true }) as {
  services: Record<string, Service>
  networks: Record<string, { internal?: boolean; ipam?: { config: { subnet: string }[] } } | null>
}
const all = Object.entries(services)
const ours = ['engine-key', 'migrate', 'api', 'worker', 'local', 'models']
const decoding = ['api', 'worker', 'local']
const named = (name: string): Service => {
  const service = services[name]
  if (service === undefined) throw new Error(`compose.yaml has no service ${name}`)
  return service
}
const reaches = (from: string, to: string) =>
  named(from).networks.some((network) => named(to).networks.includes(network))

test('the built-in provider reaches neither the database, Redis nor Restate, and no other machine', () => {
  for (const other of ['postgres', 'redis', 'restate']) expect(reaches('local', other)).toBe(false)
  for (const network of named('local').networks) expect(networks[network]?.internal).toBe(true)
  expect(reaches('worker', 'local')).toBe(true)
  expect(reaches('api', 'local')).toBe(true)
})

test('services with data are on internal networks only, and Restate does not reach the database', () => {
  for (const name of ['postgres', 'redis', 'restate', 'migrate']) {
    for (const network of named(name).networks) expect(networks[network]?.internal).toBe(true)
  }
  expect(reaches('restate', 'postgres')).toBe(false)
  for (const role of ['api', 'worker'])
    for (const other of ['postgres', 'redis', 'restate']) expect(reaches(role, other)).toBe(true)
})

test.for(decoding)('%s is killed only after DRAIN_SECONDS, and a worker after it could record', (role) => {
  const graceSeconds = Number.parseInt(named(role).stop_grace_period ?? '', 10)
  const recordSeconds = role === 'worker' ? repeatForMs / 1_000 : 0
  expect(graceSeconds).toBeGreaterThan(Number(settings.DRAIN_SECONDS.default) + recordSeconds)
})

test('only the proxy is published for other machines, and the admin API never is', () => {
  const published = all.flatMap(([name, { ports = [] }]) => ports.map((port) => `${name} ${port}`))
  expect(published).toEqual([
    'api ${PUBLISH_ADDRESS:-127.0.0.1}:8787:8787',
    'api 127.0.0.1:8788:8788',
    'proxy 80:80',
    'proxy ${PUBLIC_PORT:-443}:${PUBLIC_PORT:-443}',
  ])
  expect(named('proxy').profiles).toEqual(['proxy'])
  expect(named('api').environment).toMatchObject({ PORT: '8787', ADMIN_PORT: '8788', ADMIN_HOST: '0.0.0.0' })
  const proxied = readFileSync(join(root, 'deploy/Caddyfile'), 'utf8').match(/reverse_proxy .*/g)
  expect(proxied).toEqual(['reverse_proxy api:8787 {'])
})

test('the API trusts the addresses of the network on which only it and the proxy are', () => {
  const defaultIn = (given = '') => /^\$\{\w+:?-(.*)\}$/.exec(given)?.[1]
  const trusted = defaultIn(named('api').environment?.['TRUSTED_PROXIES'])
  expect(trusted).toBe(defaultIn(networks['front']?.ipam?.config[0]?.subnet))
  expect(settings.TRUSTED_PROXIES.read(trusted ?? '')).toHaveLength(1)
  expect(all.filter(([, service]) => service.networks?.includes('front')).map(([name]) => name)).toEqual([
    'api',
    'proxy',
  ])
  expect(named('proxy').networks).toEqual(['front'])
})

// Docker knows no exit code after which it does not restart, apart from `on-failure`, which also ignores a reboot.
test.for(['api', 'worker', 'local'])(
  '%s waits instead of restarting for ever with invalid settings',
  (name) => {
    expect(named(name).restart).toBe('unless-stopped')
    expect(named(name).environment?.['ON_INVALID_SETTINGS']).toBe('wait')
  },
)

test('secrets, the database password and the public URL are required and have no default', () => {
  for (const name of [
    ...[
      'DATABASE_PASSWORD',
      'KEY_HASH_SECRETS',
      'LINK_SECRETS',
      'CREDENTIAL_SECRETS',
      'AUDIT_SECRETS',
      'PUBLIC_URL',
    ],
  ]) {
    const uses = [...text.matchAll(new RegExp(`\\$\\{${name}([^}]*)\\}`, 'g'))].map(([, rest]) => rest)
    expect(uses.length).toBeGreaterThan(0)
    for (const rest of uses) expect(rest).toMatch(/^:\?set it in \.env/)
  }
})

test('the service connects with its own role, whose password is not part of the URL', () => {
  for (const name of ['migrate', 'api', 'worker']) {
    const { environment = {} } = named(name)
    expect(environment['DATABASE_URL']).toBe('postgres://kinora@postgres:5432/kinora')
    expect(environment['DATABASE_PASSWORD']).toBeDefined()
  }
  expect(named('postgres').environment?.['POSTGRES_USER']).toBe('postgres')
  const script = readFileSync(join(root, 'deploy/create-database.sh'), 'utf8')
  expect(script).toMatch(/create role kinora login nosuperuser nocreatedb nocreaterole/)
  expect(named('local').environment?.['DATABASE_URL']).toBeUndefined()
  expect(named('local').env_file).toBeUndefined()
})

test.for(Object.keys(services))(
  '%s has limits of memory, processes and processors, and rotated logs',
  (name) => {
    const service = named(name)
    expect(service.mem_limit).toMatch(/^\d+[mg]$/)
    expect(service.pids_limit).toBeGreaterThan(0)
    expect(service.cpus).toBeDefined()
    expect(service.logging?.options).toEqual({ 'max-size': '10m', 'max-file': '5' })
    expect(service.security_opt).toContain('no-new-privileges:true')
  },
)

test.for(ours)('%s runs without capabilities and with a read-only file system', (name) => {
  expect(named(name)).toMatchObject({ cap_drop: ['ALL'], read_only: true })
})

test.for(decoding)('%s requires the sandbox and may create its namespaces', (name) => {
  expect(named(name).environment?.['REQUIRE_SANDBOX']).toBe('true')
  expect(named(name).security_opt).toContain('seccomp=deploy/seccomp.json')
  expect(named(name).security_opt).toContain('apparmor=${APPARMOR_PROFILE:-unconfined}')
})

test('only roles that decode media may create namespaces', () => {
  const allowed = all.filter(([, { security_opt }]) =>
    security_opt.some((option) => option.startsWith('seccomp')),
  )
  expect(allowed.map(([name]) => name)).toEqual([...decoding, 'models'])
  const profile = JSON.parse(readFileSync(join(root, 'deploy/seccomp.json'), 'utf8')) as {
    defaultAction: string
    syscalls: { names: string[] }[]
  }
  expect(profile.defaultAction).toBe('SCMP_ACT_ERRNO')
  const names = profile.syscalls.flatMap((rule) => rule.names)
  for (const name of ['clone', 'unshare', 'mount', 'pivot_root', 'seccomp']) expect(names).toContain(name)
  for (const name of ['bpf', 'ptrace', 'setns', 'keyctl', 'perf_event_open', 'userfaultfd', 'io_uring_setup'])
    expect(names).not.toContain(name)
})

test.for(['api', 'worker'])(
  '%s reads the provider file from a directory that the operator can change',
  (name) => {
    expect(named(name).volumes).toContain('${PROVIDERS_DIRECTORY:-./deploy/config}:/etc/kinora:ro')
    expect(named(name).environment?.['PROVIDERS_FILE']).toBe('/etc/kinora/kinora.yaml')
  },
)

test('the image requires the sandbox', () => {
  expect(readFileSync(join(root, 'Dockerfile'), 'utf8')).toMatch(/^ENV REQUIRE_SANDBOX=true$/m)
})
