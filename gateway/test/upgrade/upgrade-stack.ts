/** The service with two API processes and two workers, each of which can run another version of the command. */
import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { inject } from 'vitest'

import { startRestateServer } from '../../../cli/src/dev/restate-server.ts'
import { startVendor, type Vendor } from '../../../dev/vendor/vendor.ts'
import type { Environment } from '../../src/config.ts'
import { askJson } from '../kit/answers.ts'
import { createDatabase, type TestDatabase } from '../kit/database.ts'
import { reservePorts } from '../kit/reserve-ports.ts'
import { roleProcess, type RoleProcess } from '../kit/role-process.ts'
import { manyRequests } from '../kit/stack.ts'
import { testEnvironment } from '../kit/start-gateway.ts'

const run = promisify(execFile)
const apiKey = 'vendor-key-of-tests'

export interface Customer {
  /** The API processes. Customers try another one if the first does not answer. */
  origins: [string, string]
  key: string
}

export interface UpgradeStack extends AsyncDisposable {
  apis: [RoleProcess, RoleProcess]
  workers: [RoleProcess, RoleProcess]
  vendor: Vendor
  database: TestDatabase
  /** The URLs of the engine. */
  ingressUrl: string
  adminUrl: string
  directory: string
  /** The URLs of the API processes. */
  origins: Customer['origins']
  /** Changes settings of the processes that are started from now on. */
  configure: (settings: Environment) => void
  /** The environment of a command. */
  environment: Environment
  /** Runs a command to its end, and returns what it prints. */
  runCommand: (command: string, ...words: string[]) => Promise<string>
  /** Creates an account with a balance and a key, through the API. */
  createCustomer: (command: string) => Promise<Customer>
  /** The logs of all roles. */
  readLogs: () => Promise<string>
}

/** Starts everything but the roles. The database is empty. */
export const startUpgradeStack = async ({
  slots = 1_000,
  hasDistinctVideos = false,
} = {}): Promise<UpgradeStack> => {
  await using started = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'kinora-upgrade-'))
  started.defer(async () => {
    if (process.env['KEEP_STACKS'] === undefined) await rm(directory, { recursive: true, force: true })
  })
  const database = started.use(await createDatabase())
  await database.postgres.query('drop schema public cascade')
  await database.postgres.query('create schema public')
  const vendor = await startVendor({ apiKey, durationMs: 1_000, hasDistinctVideos })
  started.defer(() => vendor.close())
  const ports = await reservePorts(directory, ['ingress', 'admin', 'node', 'worker', 'api0', 'api1'])
  const logDirectory = join(directory, 'logs')
  const restate = await startRestateServer({
    directory: join(directory, 'restate'),
    ports,
    environment: { PATH: process.env['PATH'] },
    logDirectory,
  })
  started.defer(() => restate.stop())
  const providersFile = join(directory, 'providers.yaml')
  const provider = { kind: 'openai', baseUrl: vendor.url, apiKey, idempotentSubmits: true, slots }
  const polling = { pollIntervalMsMin: 250, pollIntervalMsMax: 1_000 }
  await writeFile(providersFile, JSON.stringify({ providers: { vendor: { ...provider, ...polling } } }))

  const high = '100000'
  const environment: Environment = {
    ...testEnvironment(database.url, directory),
    ...manyRequests,
    LIMIT_CREATES_PER_MINUTE: high,
    LIMIT_READS_PER_MINUTE: high,
    LIMIT_AUDIO_PER_MINUTE: high,
    LIMIT_CHAT_PER_MINUTE: high,
    REDIS_URL: inject('redisUrl'),
    RESTATE_INGRESS_URL: restate.ingressUrl,
    RESTATE_ADMIN_URL: restate.adminUrl,
    WORKER_PORT: String(ports.worker),
    PROVIDERS_FILE: providersFile,
    LOG_LEVEL: 'info',
  }
  const environments = [environment]
  const createRole = (role: 'api' | 'worker', index: 0 | 1) => {
    const port = role === 'api' ? { PORT: String(index === 0 ? ports.api0 : ports.api1) } : {}
    const own = { ...environment, ...port }
    environments.push(own)
    const created = roleProcess(role, own, join(logDirectory, `${role}-${index}.log`))
    started.defer(() => created.kill())
    return created
  }
  const apis: UpgradeStack['apis'] = [createRole('api', 0), createRole('api', 1)]
  const workers: UpgradeStack['workers'] = [createRole('worker', 0), createRole('worker', 1)]
  const origins: Customer['origins'] = [`http://127.0.0.1:${ports.api0}`, `http://127.0.0.1:${ports.api1}`]

  const runCommand: UpgradeStack['runCommand'] = async (command, ...words) => {
    const env = { PATH: process.env['PATH'], ...environment }
    return (await run(process.execPath, [command, ...words], { env })).stdout.trim()
  }
  const all = started.move()
  return {
    ...{ apis, workers, origins, vendor, database, directory, environment, runCommand },
    configure: (settings) => {
      for (const each of environments) Object.assign(each, settings)
    },
    ingressUrl: restate.ingressUrl,
    adminUrl: restate.adminUrl,
    createCustomer: async (command) => {
      const operatorKey = await runCommand(command, 'admin', 'create')
      const post = async (path: string, body: object) => {
        const answer = await askJson(`${origins[0]}/admin/v1${path}`, operatorKey, body)
        if (answer.status >= 300) throw new Error(`POST ${path}: ${JSON.stringify(answer.body)}`)
        return answer.body
      }
      const account = `/accounts/${String((await post('/accounts', { name: 'a customer' }))['id'])}`
      await post(`${account}/top-ups`, { amount_micros: 100_000_000_000, reason: 'a test' })
      const { secret } = await post(`${account}/keys`, { kind: 'payg', name: 'a key' })
      return { origins, key: String(secret) }
    },
    readLogs: async () => {
      const names = (await readdir(logDirectory)).filter((name) => /^(?:api|worker)-/.test(name))
      return (await Promise.all(names.map((name) => readFile(join(logDirectory, name), 'utf8')))).join('\n')
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}
