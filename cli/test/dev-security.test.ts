/** Who can use the ports and files of `dev`: only its own processes, callers of this machine, and the user who started it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { connect as connectHttp2, type IncomingHttpHeaders } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import { ask, askJson, askRaw } from '../../gateway/test/kit/answers.ts'
import { reserveDevPorts } from '../../gateway/test/kit/reserve-ports.ts'

const program = inject('command')

let directory: string
let port: number

const inData = (...path: string[]) => join(directory, 'data', ...path)

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'kinora-dev-security-'))
  await chmod(directory, 0o755)
  port = await reserveDevPorts(directory, inData())
})
afterAll(() => rm(directory, { recursive: true, force: true }))

interface Dev extends AsyncDisposable {
  pid: number
  url: string
  key: string
}

const startDev = async (): Promise<Dev> => {
  const child = spawn(
    process.execPath,
    [program, 'dev', '--json', '--no-models', '--port', String(port), '--data', inData()],
    {
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], OUTER_TOKEN: 'of the shell' },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  let output = ''
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    output += chunk.toString()
    if (output.includes('\n')) break
  }
  const { url, keys } = JSON.parse(output) as { url: string; keys: { payg: string } }
  return {
    pid: child.pid ?? 0,
    url,
    key: keys.payg,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM')
      await once(child, 'exit')
    },
  }
}

const portOf = (name: string) =>
  (JSON.parse(readFileSync(inData('ports.json'), 'utf8')) as Record<string, number>)[name] ?? 0

const asGet = (host: string, path: string) =>
  `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`

const statusFor = async (name: string, host: string, path: string) => {
  const url = `http://127.0.0.1:${name === 'api' ? port : portOf(name)}`
  return Number((await askRaw(url, asGet(host, path))).split(' ', 2)[1])
}

/** Calls the worker as Restate does, over HTTP/2, but without a signature. */
const callWorker = async (authority: string, headers: IncomingHttpHeaders = {}) => {
  const session = connectHttp2(`http://127.0.0.1:${portOf('worker')}`)
  try {
    const stream = session.request({ ':authority': authority, ':path': '/discover', ...headers })
    stream.end()
    const [response] = (await once(stream, 'response')) as [IncomingHttpHeaders & { ':status'?: number }]
    return response[':status']
  } finally {
    session.destroy()
  }
}

const connectPostgres = async (password: string | undefined) => {
  const client = new pg.Client({
    host: '127.0.0.1',
    port: portOf('postgres'),
    user: 'kinora',
    database: 'kinora',
    ...(password !== undefined && { password }),
  })
  try {
    await client.connect()
    const { rows } = await client.query<{ rolpassword: string }>(
      `select rolpassword from pg_authid where rolname = 'kinora'`,
    )
    return rows[0]?.rolpassword.split('$', 1)[0]
  } finally {
    await client.end()
  }
}

const expectPasswordRequired = async () => {
  for (const wrong of [undefined, '', 'kinora', 'postgres']) {
    await expect(connectPostgres(wrong)).rejects.toThrow()
  }
  const stored = readFileSync(inData('postgres', 'password'), 'utf8').trim()
  expect(stored).toMatch(/^[0-9a-f]{64}$/)
  expect(await connectPostgres(stored)).toBe('SCRAM-SHA-256')
}

/** The environment of the processes of a role that this run of `dev` has started. */
const environmentsOf = (role: string, parent: number) =>
  readFileSync(`/proc/${parent}/task/${parent}/children`, 'utf8')
    .trim()
    .split(' ')
    .filter((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes(role))
    .map((pid) => readFileSync(`/proc/${pid}/environ`, 'utf8'))

const modeOf = (path: string) => statSync(path).mode & 0o777

test('the ports and files of dev are closed to web pages and to other users of this machine', async () => {
  await using dev = await startDev()

  // Only the engine may call the worker. It can: a task ends.
  expect(await callWorker('127.0.0.1')).toBe(401)
  const forged = { 'x-restate-signature-scheme': 'v1', 'x-restate-jwt-v1': 'e30.e30.AAAA' }
  expect(await callWorker('127.0.0.1', forged)).toBe(401)
  const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
  const { body } = await askJson(`${dev.url}/v1/videos`, dev.key, order)
  await expect
    .poll(async () => (await ask(`${dev.url}/v1/videos/${String(body['id'])}`, dev.key)).body['status'])
    .toBe('completed')

  // A page whose host name was rebound to 127.0.0.1 sends its own name.
  expect(await callWorker('evil.example')).toBe(421)
  for (const [name, path] of [
    ['api', '/v1/models'],
    ['api', '/admin/v1/accounts'],
    ['local', '/engines'],
    ['local', '/jobs/x'],
  ] as const) {
    expect([path, await statusFor(name, 'evil.example', path)]).toEqual([path, 421])
    for (const host of ['localhost', '127.0.0.1', '[::1]']) {
      expect([path, host, await statusFor(name, `${host}:1`, path)]).not.toEqual([path, host, 421])
    }
  }

  await expectPasswordRequired()

  // The built-in provider decodes files of strangers. A secret of the service is not even in its environment.
  const secrets = JSON.parse(readFileSync(inData('secrets.json'), 'utf8')) as Record<string, string>
  const [api = '', ...otherApis] = environmentsOf('api', dev.pid)
  const [local = '', ...otherLocals] = environmentsOf('local', dev.pid)
  expect([otherApis, otherLocals]).toEqual([[], []])
  for (const secret of Object.values(secrets)) {
    expect(api).toContain(secret)
    expect(local).not.toContain(secret)
  }
  expect(local).not.toMatch(/DATABASE_URL|SECRET|OUTER_TOKEN/)

  for (const name of readdirSync(inData())) {
    // This test wrote the file before the first start.
    if (name === 'ports.json') continue
    // As root, the database runs as another user, who must be able to enter its directory.
    const allowed = name === 'postgres' && process.getuid?.() === 0 ? 0o711 : 0o700
    expect([name, modeOf(inData(name)) & ~allowed]).toEqual([name, 0])
  }
  for (const path of [
    'postgres/cluster',
    'postgres/password',
    'restate/identity/private.pem',
    'secrets.json',
    'keys.json',
  ]) {
    expect([path, modeOf(inData(path)) & 0o077]).toEqual([path, 0])
  }
})

test('a database that accepted connections without a password requires one after the next start', async () => {
  writeFileSync(inData('postgres', 'cluster', 'pg_hba.conf'), 'host all all 127.0.0.1/32 trust\n')
  await rm(inData('postgres', 'password'))
  await using dev = await startDev()
  await expectPasswordRequired()
  expect((await ask(`${dev.url}/v1/videos`, dev.key)).body['data']).toHaveLength(1)
})
