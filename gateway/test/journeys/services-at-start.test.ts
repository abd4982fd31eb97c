/** What the roles say about the services that they depend on, at their start and while a service is down. */
import { mkdtempDisposable, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { afterAll, beforeAll, expect, inject, test } from 'vitest'

import type { Environment } from '../../src/config.ts'
import { ask, expectProblem } from '../kit/answers.ts'
import { createDatabase, type TestDatabase } from '../kit/database.ts'
import { reservePorts } from '../kit/reserve-ports.ts'
import { roleProcess, type RoleProcess } from '../kit/role-process.ts'
import { startProxy, testEnvironment } from '../kit/start-gateway.ts'

let database: TestDatabase
let directory: Awaited<ReturnType<typeof mkdtempDisposable>>
let ports: Record<'api' | 'worker' | 'unused', number>

beforeAll(async () => {
  database = await createDatabase()
  directory = await mkdtempDisposable(join(tmpdir(), 'kinora-services-'))
  ports = await reservePorts(directory.path, ['api', 'worker', 'unused'])
})
afterAll(async () => {
  await database[Symbol.asyncDispose]()
  await directory.remove()
})

interface Started extends AsyncDisposable {
  process: RoleProcess
  output: () => Promise<string>
  lines: () => Promise<Record<string, unknown>[]>
}

let logs = 0

const roleWith = (role: 'api' | 'worker', given: Environment): Started => {
  logs += 1
  const logFile = join(directory.path, `${role}-${logs}.log`)
  const environment = {
    ...testEnvironment(database.url, directory.path),
    ...{ LOG_LEVEL: 'info', PORT: String(ports.api), WORKER_PORT: String(ports.worker) },
    ...given,
  }
  const process = roleProcess(role, environment, logFile)
  const output = () => readFile(logFile, 'utf8')
  return {
    process,
    output,
    lines: async () =>
      (await output())
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as Record<string, unknown>),
    [Symbol.asyncDispose]: async () => {
      await process.stop()
    },
  }
}

const warningsOf = async ({ lines }: Started) =>
  (await lines()).filter(({ msg }) => msg === 'config.warning').map(({ warning }) => String(warning))
const aboutRedis = async (started: Started) =>
  (await warningsOf(started)).filter((warning) => warning.startsWith('REDIS_URL'))

test('one role with Redis and another without it: the one that starts later warns, with the fix', async () => {
  const redis = { REDIS_URL: inject('redisUrl') }
  await using api = roleWith('api', redis)
  await api.process.start()
  expect(await aboutRedis(api)).toEqual([])
  {
    await using worker = roleWith('worker', {})
    await worker.process.start()
    expect(await aboutRedis(worker)).toEqual([
      expect.stringMatching(
        /^REDIS_URL is not set for this worker, but set for a running api: .* Set REDIS_URL to the same Redis for every api and worker, or for none\.$/,
      ),
    ])
    await api.process.stop()
    await using later = roleWith('api', redis)
    await later.process.start()
    expect(await aboutRedis(later)).toEqual([
      expect.stringMatching(/^REDIS_URL is set for this api, but not set for a running worker: /),
    ])
  }
  // Nothing is remembered of processes that have ended.
  await using alike = roleWith('worker', redis)
  await alike.process.start()
  expect(await aboutRedis(alike)).toEqual([])
})

test.each(['api', 'worker'] as const)(
  'the %s does not start without PostgreSQL, and names it and its setting, but no password',
  async (role) => {
    const url = `postgres://kinora:very-secret@127.0.0.1:${ports.unused}/media`
    const started = roleWith(role, { DATABASE_URL: url })
    await expect(started.process.start()).rejects.toThrow('before it was ready')
    const output = await started.output()
    expect(output).toContain(`PostgreSQL at 127.0.0.1:${ports.unused}/media (DATABASE_URL) cannot be used: `)
    expect(output).not.toContain('very-secret')
  },
)

test('a wrong database is named with the reason of PostgreSQL', async () => {
  const url = new URL(database.url)
  url.pathname = '/nowhere'
  const started = roleWith('api', { DATABASE_URL: url.href })
  await expect(started.process.start()).rejects.toThrow('before it was ready')
  expect(await started.output()).toContain(
    `PostgreSQL at ${url.host}/nowhere (DATABASE_URL) cannot be used: database "nowhere" does not exist`,
  )
})

test('Redis and Restate that are down are named with their settings, without a password', async () => {
  const down = `127.0.0.1:${ports.unused}`
  await using worker = roleWith('worker', {
    REDIS_URL: `redis://:very-secret@${down}/1`,
    RESTATE_ADMIN_URL: `http://${down}`,
  })
  await worker.process.start()
  await expect
    .poll(worker.lines)
    .toContainEqual(
      expect.objectContaining({ msg: 'redis.connection-lost', service: `Redis at ${down} (REDIS_URL)` }),
    )
  expect(await worker.output()).toContain(`Restate at ${down} (RESTATE_ADMIN_URL) cannot be used: `)
  expect(await worker.output()).not.toContain('very-secret')
})

test('readiness names PostgreSQL and its setting, and no address', async () => {
  await using proxy = await startProxy(database.url)
  await using api = roleWith('api', { DATABASE_URL: proxy.url })
  await api.process.start()
  const ready = () => ask(`http://127.0.0.1:${ports.api}/readyz`, undefined)
  expect((await ready()).status).toBe(200)
  await proxy.cut()
  const answer = await ready()
  expectProblem(answer, 'service_unavailable')
  expect(answer.body['error']).toHaveProperty(
    'message',
    'Not ready: PostgreSQL (DATABASE_URL) cannot be reached.',
  )
  await proxy.mend()
  await expect.poll(async () => (await ready()).status).toBe(200)
})
