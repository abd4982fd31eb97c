/** `kinora doctor` on a production installation: each injected fault is found and named with its fix, and nothing else. */
import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer as createHttp, request, type RequestListener } from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { startVendor, type Vendor } from '../../dev/vendor/vendor.ts'
import { writeManifest } from '../../gateway/src/backup/manifest.ts'
import { createDatabase, type TestDatabase } from '../../gateway/test/kit/database.ts'
import { auditSecret, keySecret, linkSecret } from '../../gateway/test/kit/factories.ts'
import { startPostgresServer, type PostgresServer } from '../../gateway/test/kit/postgres-server.ts'
import { startGateway, type TestGateway } from '../../gateway/test/kit/start-gateway.ts'

const run = promisify(execFile)

interface Check {
  name: string
  state: string
  detail: string
  fix?: string
}

let directory: string
let database: PostgresServer
let empty: TestDatabase
let vendor: Vendor
const gateways: Record<string, TestGateway> = {}
const servers: Server[] = []
const urls: Record<string, string> = {}
let healthy: Record<string, string>

const inDirectory = (...path: string[]) => join(directory, ...path)

const openssl = (...parameters: string[]) => run('openssl', parameters, { cwd: directory })

/** Makes a certificate for an address, signed by the authority of this test unless it signs itself. */
const certify = async (name: string, { days = 90, address = '127.0.0.1', isSelfSigned = false } = {}) => {
  const key = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-noenc',
    '-keyout',
    `${name}.key`,
  ]
  const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=IP:${address}`]
  if (isSelfSigned) {
    await openssl('req', '-x509', ...key, ...subject, '-days', String(days), '-out', `${name}.pem`)
    return
  }
  await openssl('req', ...key, ...subject, '-out', `${name}.csr`)
  await openssl(
    ...['x509', '-req', '-in', `${name}.csr`, '-copy_extensions', 'copy', '-days', String(days)],
    ...['-CA', 'authority.pem', '-CAkey', 'authority.key', '-out', `${name}.pem`],
  )
}

/** Makes a certificate that was valid for 85 of 90 days. Only `openssl ca` can set the first day. */
const certifySoon = async () => {
  await certify('soon')
  const at = (days: number) =>
    new Date(Date.now() + days * 86_400_000).toISOString().replace(/[-:T]|\.\d+/g, '')
  await writeFile(inDirectory('index.txt'), '')
  await writeFile(
    inDirectory('authority.cnf'),
    '[ca]\ndefault_ca=own\n[own]\ndatabase=index.txt\nnew_certs_dir=.\nserial=serial\nrand_serial=yes\ndefault_md=sha256\npolicy=any\ncopy_extensions=copy\n[any]\ncommonName=supplied\n',
  )
  await openssl(
    ...['ca', '-batch', '-notext', '-rand_serial', '-config', 'authority.cnf', '-in', 'soon.csr'],
    ...['-out', 'soon.pem', '-startdate', at(-85), '-enddate', at(5)],
    ...['-cert', 'authority.pem', '-keyfile', 'authority.key'],
  )
}

const listen = async (server: Server): Promise<number> => {
  servers.push(server)
  await new Promise<void>((resolve) => {
    server.listen({ host: '127.0.0.1', port: 0 }, resolve)
  })
  return (server.address() as AddressInfo).port
}

/** A reverse proxy as Caddy and nginx are, which adds X-Forwarded-For. */
const forwardTo =
  (target: string, { addsForwardedFor = true } = {}): RequestListener =>
  (incoming, outgoing) => {
    const { remoteAddress = '' } = incoming.socket
    const headers = { ...incoming.headers, ...(addsForwardedFor && { 'x-forwarded-for': remoteAddress }) }
    const { method = 'GET' } = incoming
    const sent = request(`${target}${incoming.url}`, { method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 0, response.headers)
      response.pipe(outgoing)
    })
    sent.on('error', () => outgoing.writeHead(502).end()).end()
  }

const startTls = async (certificate: string, handle: RequestListener): Promise<string> => {
  const [key, cert] = await Promise.all(
    ['key', 'pem'].map((ending) => readFile(inDirectory(`${certificate}.${ending}`))),
  )
  return `https://127.0.0.1:${await listen(createHttps({ key, cert }, handle))}`
}

const providersFile = async (name: string, content: unknown) => {
  await writeFile(inDirectory(name), typeof content === 'string' ? content : JSON.stringify(content))
  return inDirectory(name)
}

const acme = (url: string, apiKey: string) => ({
  providers: { acme: { kind: 'openai', baseUrl: url, apiKey } },
  models: { 'vidB-2': { provider: 'acme' } },
})

const backUpAt = async (name: string, time: Date) => {
  const path = inDirectory(name, '2026-01-01T00-00-00Z')
  await mkdir(path, { recursive: true })
  const none = { size_bytes: 0, sha256: '', server_major: 17, pg_dump_major: 17 }
  await writeManifest(path, {
    ...{ layout: 1, kinora_version: '0.1.0', snapshot_at: time.toISOString(), migrations: [], secrets: {} },
    database: { ...none, accounts: 0, tasks: 0, open_tasks: 0, ledger_entries: 0 },
    media: { files: 0, size_bytes: 0, missing: [] },
  })
  return inDirectory(name)
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-doctor-'))
  ;[database, empty, vendor] = await Promise.all([
    startPostgresServer(),
    createDatabase(),
    startVendor({ apiKey: 'sk-vendor' }),
  ])
  await empty.postgres.query('drop schema public cascade')
  await empty.postgres.query('create schema public')
  await openssl(
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-noenc'],
    ...['-keyout', 'authority.key', '-out', 'authority.pem', '-days', '90', '-subj', '/CN=authority'],
  )
  await certify('good')
  await certify('short', { days: 1 })
  await certifySoon()
  await certify('expired', { days: -1 })
  await certify('other', { address: '192.0.2.1' })
  await certify('own', { isSelfSigned: true })

  const shared = { database, directory }
  const file = await providersFile('kinora.yaml', acme(vendor.url, 'sk-vendor'))
  const settings = { PROVIDERS_FILE: file, ADMIN_PORT: '8788', TRUSTED_PROXIES: '127.0.0.1' }
  const gateway = (gateways['good'] = await startGateway(settings, shared))
  gateways['unaware'] = await startGateway({ ...settings, TRUSTED_PROXIES: '' }, shared)
  gateways['open'] = await startGateway({ ...settings, ADMIN_PORT: '' }, shared)

  urls['good'] = await startTls('good', forwardTo(gateway.url))
  for (const name of ['soon', 'short', 'expired', 'other', 'own'])
    urls[name] = await startTls(name, forwardTo(gateway.url))
  urls['unaware'] = await startTls('good', forwardTo(gateways['unaware'].url))
  urls['open'] = await startTls('good', forwardTo(gateways['open'].url))
  urls['hiding'] = await startTls('good', forwardTo(gateway.url, { addsForwardedFor: false }))
  urls['alone'] = await startTls('good', forwardTo('http://127.0.0.1:9'))
  urls['another'] = await startTls('good', (_, outgoing) => outgoing.end('<h1>It works!</h1>'))
  const redirecting: RequestListener = (_, outgoing) =>
    outgoing.writeHead(308, { location: `${urls['good']}/readyz` }).end()
  urls['redirecting'] = `http://127.0.0.1:${await listen(createHttp(redirecting))}`
  const closed = createHttp()
  urls['closed'] = `127.0.0.1:${await listen(closed)}`
  closed.close()
  urls['plain'] = `https://127.0.0.1:${await listen(createHttp(forwardTo(gateway.url)))}`

  healthy = {
    ...{ DATABASE_URL: database.url, REDIS_URL: inject('redisUrl'), PUBLIC_URL: urls['good'] },
    ...{ KEY_HASH_SECRETS: keySecret, LINK_SECRETS: linkSecret, AUDIT_SECRETS: auditSecret },
    ...{ PROVIDERS_FILE: file, MEDIA_DIRECTORY: inDirectory('media'), ADMIN_PORT: '8788' },
    ...{ TRUSTED_PROXIES: '127.0.0.1', BACKUP_DIRECTORY: await backUpAt('backups', new Date()) },
    DISK_FREE_BYTES_MIN: '1MiB',
  }
  await writeFile(
    inDirectory('.env'),
    Object.entries(healthy)
      .map(([name, value]) => `${name}=${value}\n`)
      .join(''),
  )
})

afterAll(async () => {
  for (const server of servers) server.close()
  for (const gateway of Object.values(gateways)) await gateway[Symbol.asyncDispose]()
  await vendor?.close()
  await empty?.[Symbol.asyncDispose]()
  await database?.[Symbol.asyncDispose]()
  await rm(directory, { recursive: true, force: true })
})

/** Runs in the folder whose `.env` has the settings; the environment has only what a fault changes. */
const doctor = async (
  changed: Record<string, string>,
  parameters: string[] = ['--json'],
  { cwd = directory } = {},
) => {
  const env = {
    ...{ PATH: process.env['PATH'], HOME: directory, NODE_EXTRA_CA_CERTS: inDirectory('authority.pem') },
    ...changed,
  }
  const options = { cwd, env }
  try {
    const { stdout } = await run(process.execPath, [inject('command'), 'doctor', ...parameters], options)
    return { code: 0, stdout }
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string }
    return { code, stdout: stdout === '' ? stderr : stdout }
  }
}

const checksOf = (stdout: string) => (JSON.parse(stdout) as { checks: Check[] }).checks

/** Checks that run programs. They take half of the time of `doctor`, and may take longer than it waits on a busy machine. */
const ofPrograms = ['ffmpeg', 'encoders', 'ffprobe', 'sandbox']

const noPrograms = { FFMPEG_PATH: '/nowhere', FFPROBE_PATH: '/nowhere', BUBBLEWRAP_PATH: '/nowhere' }

const problemsIn = (stdout: string, wanted: string[] = []) =>
  checksOf(stdout).filter(
    ({ name, state }) =>
      (state === 'failed' || state === 'warning') && (wanted.includes(name) || !ofPrograms.includes(name)),
  )

test('a sound installation has no problem, with the settings of .env', async () => {
  const { stdout } = await doctor({})
  expect(problemsIn(stdout)).toEqual([])
  const states = Object.fromEntries(checksOf(stdout).map(({ name, state }) => [name, state]))
  expect(states).toMatchObject({
    ...{ PostgreSQL: 'ok', Redis: 'ok', settings: 'ok', 'providers file': 'ok', 'provider acme': 'ok' },
    ...{
      disk: 'ok',
      'media store': 'ok',
      backup: 'ok',
      'public URL': 'ok',
      TLS: 'ok',
      proxies: 'ok',
      'admin API': 'ok',
    },
  })
})

test('a certificate that lasts for a day is not about to expire', async () => {
  const { stdout } = await doctor({ PUBLIC_URL: urls['short'] ?? '' })
  expect(problemsIn(stdout)).toEqual([])
})

test('beside the containers of `kinora init`, what only they have is no problem', async () => {
  const folder = inDirectory('installed')
  await run(process.execPath, [inject('command'), 'init', folder, '--url', urls['good'] ?? ''])
  const { providers, models } = acme(vendor.url, 'sk-vendor')
  const file = { providers: { here: { kind: 'local' }, ...providers }, models }
  await writeFile(join(folder, 'config/kinora.yaml'), JSON.stringify(file))
  const settings = { ...noPrograms, BACKUP_DIRECTORY: inDirectory('backups') }
  const { code, stdout } = await doctor(settings, ['--json'], { cwd: folder })
  expect(problemsIn(stdout)).toEqual([])
  expect(checksOf(stdout)).toContainEqual({
    ...{ name: 'provider here', state: 'absent' },
    detail: expect.stringContaining('docker compose run --rm api doctor'),
  })
  expect(checksOf(stdout)).toContainEqual(expect.objectContaining({ name: 'provider acme', state: 'ok' }))
  expect(code).toBe(0)
})

test('in a container without the backups, their age is unknown', async () => {
  const { stdout } = await doctor({ ...noPrograms, container: 'oci', BACKUP_DIRECTORY: '/nowhere' })
  expect(problemsIn(stdout)).toEqual([])
  expect(checksOf(stdout)).toContainEqual({
    ...{ name: 'backup', state: 'absent', detail: '/nowhere is not visible in this container' },
    fix: 'mount it: docker compose run --rm --volume /nowhere:/nowhere:ro api doctor',
  })
})

interface Fault {
  /** The settings that are wrong. */
  changed: () => Record<string, string> | Promise<Record<string, string>>
  check: string
  detail: RegExp
  fix: RegExp
  state?: 'warning'
}

const withDatabase = (change: (url: URL) => void) => () => {
  const url = new URL(database.url)
  change(url)
  return { DATABASE_URL: url.href }
}
const withFile = (name: string, content: () => unknown) => async () => ({
  PROVIDERS_FILE: await providersFile(name, content()),
})
const withUrl = (name: string) => () => ({ PUBLIC_URL: urls[name] ?? '' })

const faults: Record<string, Fault> = {
  'wrong port of the database': {
    changed: withDatabase((url) => (url.port = '9')),
    ...{ check: 'PostgreSQL', detail: /ECONNREFUSED/, fix: /correct the host and port in DATABASE_URL/ },
  },
  'wrong password of the database': {
    changed: withDatabase((url) => (url.password = 'wrong')),
    ...{ check: 'PostgreSQL', detail: /password authentication failed/, fix: /correct DATABASE_PASSWORD/ },
  },
  'wrong name of the database': {
    changed: withDatabase((url) => (url.pathname = '/nothing')),
    ...{ check: 'PostgreSQL', detail: /"nothing" does not exist/, fix: /createdb/ },
  },
  'missing migrations': {
    changed: () => ({ DATABASE_URL: empty.url }),
    ...{ check: 'PostgreSQL', detail: /has not been migrated/, fix: /^kinora migrate$/ },
  },
  'a log of the database with rows and values': {
    changed: withDatabase((url) =>
      url.searchParams.set('options', '-c log_error_verbosity=default -c log_parameter_max_length=-1'),
    ),
    check: 'PostgreSQL',
    detail: /its log may contain rows/,
    fix: /^as a superuser: alter database kinora set log_error_verbosity = 'terse'; alter database kinora set log_parameter_max_length = '0'; Then/,
    state: 'warning',
  },
  'wrong port of Redis': {
    changed: () => ({ REDIS_URL: 'redis://127.0.0.1:9' }),
    ...{ check: 'Redis', detail: /ECONNREFUSED/, fix: /correct REDIS_URL/ },
  },
  'wrong password of Redis': {
    changed: () => ({ REDIS_URL: inject('redisUrl').replace('redis://', 'redis://nobody:wrong@') }),
    ...{ check: 'Redis', detail: /WRONGPASS/, fix: /correct the password in REDIS_URL/ },
  },
  'Restate is down': {
    changed: () => ({
      RESTATE_ADMIN_URL: `http://${urls['closed']}`,
      RESTATE_INGRESS_URL: `http://${urls['closed']}`,
    }),
    ...{ check: 'Restate', detail: /ECONNREFUSED/, fix: /correct RESTATE_ADMIN_URL/ },
  },
  'ffmpeg is missing': {
    changed: () => ({ FFMPEG_PATH: '/nowhere/ffmpeg' }),
    ...{ check: 'ffmpeg', detail: /ffmpeg/, fix: /apt-get install ffmpeg, or set FFMPEG_PATH/ },
  },
  'ffprobe is missing': {
    changed: () => ({ FFPROBE_PATH: '/nowhere/ffprobe' }),
    ...{ check: 'ffprobe', detail: /ENOENT/, fix: /apt-get install ffmpeg, or set FFPROBE_PATH/ },
  },
  'the sandbox is missing': {
    changed: () => ({ BUBBLEWRAP_PATH: '/nowhere/bwrap', REQUIRE_SANDBOX: 'true' }),
    ...{ check: 'sandbox', detail: /media is refused/, fix: /Install bubblewrap/ },
  },
  'a secret that is too short': {
    changed: () => ({ LINK_SECRETS: 'short' }),
    ...{
      check: 'settings',
      detail: /LINK_SECRETS needs secrets of at least 32/,
      fix: /correct LINK_SECRETS/,
    },
  },
  'a wrong key of a vendor': {
    changed: withFile('wrong-key.yaml', () => acme(vendor.url, 'sk-wrong')),
    ...{ check: 'provider acme', detail: /refused the key \(401\)/, fix: /set a valid one .*apiKey/ },
  },
  'a wrong address of a vendor': {
    changed: withFile('wrong-address.yaml', () => acme('http://127.0.0.1:9', 'sk-vendor')),
    ...{ check: 'provider acme', detail: /refused the connection/, fix: /check base_url/ },
  },
  'a key of a vendor that is not set': {
    changed: withFile('no-key.yaml', () => acme(vendor.url, '${env:ACME_API_KEY}')),
    ...{
      check: 'providers file',
      detail: /ACME_API_KEY\}, which is not set/,
      fix: /set ACME_API_KEY in \.env/,
    },
  },
  'an unknown setting in the providers file': {
    changed: withFile('unknown.yaml', () => 'providers:\n  acme: { kind: local, slotz: 3 }\n'),
    ...{ check: 'providers file', detail: /unknown\.yaml:2: .*slotz/, fix: /correct .*unknown\.yaml/ },
  },
  'a missing providers file': {
    changed: () => ({ PROVIDERS_FILE: '/nowhere/kinora.yaml' }),
    ...{
      check: 'providers file',
      detail: /cannot be read/,
      fix: /create the file, or correct PROVIDERS_FILE/,
    },
  },
  'no model with a route': {
    changed: withFile('no-routes.yaml', () => ({ providers: { here: { kind: 'local', enabled: false } } })),
    ...{ check: 'models', detail: /none of \d+ has a route/, fix: /OFFER_MODELS_WITHOUT_ROUTES/ },
  },
  'a full disk': {
    changed: () => ({ DISK_FREE_BYTES_MIN: '9000000GiB' }),
    ...{ check: 'disk', detail: /uploads are refused/, fix: /enlarge the disk/ },
  },
  'a media directory that cannot be written': {
    changed: () => ({ MEDIA_DIRECTORY: inDirectory('.env', 'media') }),
    ...{ check: 'disk', detail: /MEDIA_DIRECTORY cannot be used: ENOTDIR/, fix: /correct MEDIA_DIRECTORY/ },
  },
  'a bucket whose server is down': {
    changed: () => ({
      ...{ AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret' },
      MEDIA_STORE: 's3://media?endpoint=http://127.0.0.1:9&path_style=true',
    }),
    ...{ check: 'media store', detail: /write: nothing listens at/, fix: /correct the endpoint/ },
  },
  'an old backup': {
    changed: async () => ({
      BACKUP_DIRECTORY: await backUpAt('old', new Date(Date.now() - 72 * 3_600_000)),
    }),
    ...{ check: 'backup', detail: /is 72 hours old/, fix: /kinora backup/ },
  },
  'no backup': {
    changed: () => ({ BACKUP_DIRECTORY: inDirectory('nothing') }),
    ...{ check: 'backup', detail: /has no complete backup/, fix: /^kinora backup$/ },
  },
  'wrong port of the public URL': {
    changed: () => ({ PUBLIC_URL: 'https://127.0.0.1:9' }),
    ...{ check: 'public URL', detail: /ECONNREFUSED/, fix: /correct the port in PUBLIC_URL/ },
  },
  'an http URL of a proxy with TLS': {
    changed: withUrl('redirecting'),
    ...{ check: 'public URL', detail: /redirects to https/, fix: /^set PUBLIC_URL=https:/ },
  },
  'an https URL of a port without TLS': {
    changed: withUrl('plain'),
    ...{ check: 'TLS', detail: /./, fix: /does not speak TLS/ },
  },
  'a proxy that does not reach the API': {
    changed: withUrl('alone'),
    ...{ check: 'public URL', detail: /not the API \(502\)/, fix: /start the API/ },
  },
  'another program at the public URL': {
    changed: withUrl('another'),
    ...{ check: 'public URL', detail: /served by another program/, fix: /correct PUBLIC_URL, or the proxy/ },
  },
  'an expired certificate': {
    changed: withUrl('expired'),
    ...{ check: 'TLS', detail: /expired/, fix: /let the proxy renew it/ },
  },
  'a certificate for another name': {
    changed: withUrl('other'),
    ...{ check: 'TLS', detail: /altnames|does not match/, fix: /a certificate for this name/ },
  },
  'a certificate of an unknown authority': {
    changed: withUrl('own'),
    ...{ check: 'TLS', detail: /self-signed/, fix: /NODE_EXTRA_CA_CERTS/ },
  },
  'a certificate that soon expires': {
    changed: withUrl('soon'),
    ...{ check: 'TLS', detail: /in [45] days/, fix: /let the proxy renew it/, state: 'warning' },
  },
  'a proxy that is not trusted': {
    changed: withUrl('unaware'),
    ...{ check: 'proxies', detail: /all customers share one rate limit/, fix: /set TRUSTED_PROXIES/ },
  },
  'a proxy that hides the addresses': {
    changed: withUrl('hiding'),
    ...{ check: 'proxies', detail: /does not send X-Forwarded-For/, fix: /let it add the header/ },
  },
  'the admin API at the public URL': {
    changed: withUrl('open'),
    ...{ check: 'admin API', detail: /admin\/v1 is reachable/, fix: /set ADMIN_PORT/ },
  },
}

/** Faults of different areas do not affect each other. */
const areaOf = (check: string) => {
  if (['provider acme', 'providers file', 'models'].includes(check)) return 'providers'
  if (['public URL', 'TLS', 'proxies', 'admin API'].includes(check)) return 'public URL'
  return check
}

/** Each round has at most one fault of every area. Without valid settings nothing else is checked. */
const rounds = () => {
  const rest = Object.entries(faults).filter(([, { check }]) => check !== 'settings')
  const byArea = Object.values(Object.groupBy(rest, ([, { check }]) => areaOf(check)))
  const count = Math.max(...byArea.map((ofArea = []) => ofArea.length))
  return [
    Object.entries(faults).filter(([, { check }]) => check === 'settings'),
    ...Array.from({ length: count }, (_, round) =>
      byArea.flatMap((ofArea = []) => ofArea.slice(round, round + 1)),
    ),
  ]
}

test.for(rounds().map((round) => [round.map(([name]) => name).join(', '), round] as const))(
  '%s',
  async ([, round]) => {
    const found = round.map(([, fault]) => fault)
    const changed = await Promise.all(found.map(async (fault) => fault.changed()))
    const hasPrograms = found.some(({ check }) => ofPrograms.includes(check))
    const { code, stdout } = await doctor(Object.assign({}, !hasPrograms && noPrograms, ...changed))
    const problems = problemsIn(
      stdout,
      found.map(({ check }) => check),
    )
    expect(problems).toHaveLength(found.length)
    for (const { check, detail, fix, state = 'failed' } of found)
      expect(problems).toContainEqual({
        ...{ name: check, state },
        detail: expect.stringMatching(detail),
        fix: expect.stringMatching(fix),
      })
    if (found.some(({ state }) => state === undefined)) expect(code).toBe(1)
  },
)

test('shows each check in one line, with the fix beside it, and counts the problems', async () => {
  const { code, stdout } = await doctor({ PUBLIC_URL: urls['unaware'] ?? '', FFPROBE_PATH: '/nowhere' }, [])
  expect(code).toBe(1)
  expect(stdout).toMatch(/^✗ ffprobe .* → apt-get install ffmpeg, or set FFPROBE_PATH$/m)
  expect(stdout).toMatch(/^✗ proxies .* → set TRUSTED_PROXIES to the address of the proxy.*$/m)
  expect(stdout).toMatch(/^✓ PostgreSQL +version \d+, reachable and up to date$/m)
  expect(stdout).toMatch(/^\d+ problems, 0 warnings\.$/m)
})
