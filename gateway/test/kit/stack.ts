/**
 * The whole service as it runs in production: PostgreSQL, Redis, Restate, an API process, worker processes, and the
 * simulated vendor. Every part can be killed and restarted.
 */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { inject } from 'vitest'

import { startRestateServer, type RestateServer } from '../../../cli/src/dev/restate-server.ts'
import { startVendor, type Vendor } from '../../../dev/vendor/vendor.ts'
import type { Environment } from '../../src/config.ts'
import { ask, form } from './answers.ts'
import { withoutSandbox } from './blocking-program.ts'
import { createDatabase, type TestDatabase } from './database.ts'
import { createAccount, createKey } from './factories.ts'
import { brokenInvariants } from './ledger.ts'
import { createNetwork } from './machine.ts'
import { reservePorts } from './reserve-ports.ts'
import { roleProcess, type RoleProcess } from './role-process.ts'
import { testEnvironment } from './start-gateway.ts'
import { minutes } from './time-limits.ts'

export interface StackOptions {
  vendorDurationMs?: number
  /** Whether each job of the vendor has a video of its own. */
  hasDistinctVideos?: boolean
  slots?: number
  workers?: number
  /** Delays the storing of every result, to catch tasks in that stage. */
  probeDelaySeconds?: number
  provider?: 'vendor' | 'local'
  /** More settings of the provider. */
  providerSettings?: Record<string, unknown>
  /** A model for which a second provider is configured, with the same settings and the same upstream. */
  secondProviderFor?: string
  /** The complete provider configuration, in place of the one built from the options above. */
  routingConfig?: (vendor: Vendor) => { providers: Record<string, object>; models: Record<string, object> }
  environment?: Environment
  /** More settings of one role. */
  roleEnvironments?: { api?: Environment; worker?: Environment }
  /** Runs API and worker on machines of their own, which share this bucket. Needs root. */
  bucketUrl?: string
  /** A database and a vendor that the test has already. They are not disposed with the stack. */
  existing?: { database: TestDatabase; vendor: Vendor }
}

interface LedgerCounts {
  /** Videos. */
  completed: number
  failed: number
  /** Captures and releases of other requests. */
  captures?: number
  releases?: number
}

const highLimit = 'address=10000,key=10000,account=10000,total=20000'

/** For tests that send the traffic of many clients with one key. */
export const manyRequests: Environment = { LIMIT_REQUESTS_IN_FLIGHT: highLimit }
export const manyUploads: Environment = {
  LIMIT_UPLOADS_IN_FLIGHT: highLimit,
  LIMIT_SPOOL_BYTES: 'address=16GiB,key=16GiB,account=16GiB',
}

export interface Stack extends AsyncDisposable {
  url: string
  key: string
  accountId: string
  directory: string
  database: TestDatabase
  vendor: Vendor
  api: RoleProcess
  workers: RoleProcess[]
  local: RoleProcess
  engine: {
    pid: () => number | undefined
    adminUrl: string
    stop: () => Promise<void>
    start: () => Promise<void>
    empty: () => Promise<void>
  }
  /** Creates a video and returns its id. */
  create: (prompt: string, fields?: Record<string, string | Blob>) => Promise<string>
  /** The number of tasks in each state. */
  states: () => Promise<Record<string, number>>
  /** The number of open tasks in each stage. */
  stages: () => Promise<Record<string, number>>
  until: (what: string, holds: () => Promise<boolean>, withinMs?: number) => Promise<number>
  /** Asserts that every task has ended, each was charged at most once, and the ledger balances. */
  assertLedger: (expected: LedgerCounts) => Promise<void>
}

/** Where the roles run, and how they reach the services of this machine. */
const placeRoles = async (number: number, bucketUrl: string | undefined) => {
  if (bucketUrl === undefined)
    return {
      apiAddress: '127.0.0.1',
      reach: async (url: string) => url,
      settingsOf: (): Environment => ({}),
      lineOf: () => undefined,
      dispose: async () => undefined,
    }
  const network = await createNetwork(number)
  const machines = { api: await network.addMachine(), worker: await network.addMachine() }
  const endpoint = new URL(bucketUrl).searchParams.get('endpoint') ?? ''
  const MEDIA_STORE = bucketUrl.replace(
    encodeURIComponent(endpoint),
    encodeURIComponent(await network.reach(endpoint)),
  )
  const credentials = ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'].map((name) => [name, process.env[name]])
  return {
    apiAddress: machines.api.address,
    reach: network.reach,
    settingsOf: (role: 'api' | 'worker'): Environment => ({
      ...(role === 'api' ? { HOST: machines.api.address } : { WORKER_HOST: machines.worker.address }),
      ...(Object.fromEntries(credentials) as Environment),
      MEDIA_STORE,
    }),
    lineOf: (role: 'api' | 'worker', directory: string) => (command: string) =>
      machines[role].lineOf(directory, [process.execPath, command]),
    dispose: () => network[Symbol.asyncDispose](),
  }
}

const apiKey = 'vendor-key-of-tests'

export const startStack = async (options: StackOptions = {}): Promise<Stack> => {
  const { vendorDurationMs = 300, slots = 1_000, workers: workerCount = 1, provider = 'vendor' } = options
  const directory = await mkdtemp(join(tmpdir(), 'kinora-stack-'))
  const { existing } = options
  const database = existing?.database ?? (await createDatabase())
  const { hasDistinctVideos = false } = options
  const vendor =
    existing?.vendor ?? (await startVendor({ apiKey, durationMs: vendorDurationMs, hasDistinctVideos }))
  const ports = await reservePorts(directory, ['ingress', 'admin', 'node', 'worker', 'api', 'local'])

  const { reach, apiAddress, settingsOf, lineOf, dispose } = await placeRoles(ports.api, options.bucketUrl)
  await mkdir(join(directory, 'media'))

  let restate: RestateServer | undefined
  const startEngine = async () => {
    restate = await startRestateServer({
      directory: join(directory, 'restate'),
      ports,
      environment: { PATH: process.env['PATH'] },
      logDirectory: join(directory, 'logs'),
    })
  }
  const stopEngine = async () => {
    await restate?.stop()
    restate = undefined
  }
  await startEngine()

  const providersFile = join(directory, 'providers.yaml')
  const settings = {
    slots,
    pollIntervalMsMin: 250,
    pollIntervalMsMax: 2_000,
    ...(provider === 'vendor'
      ? { kind: 'openai', baseUrl: await reach(vendor.url), apiKey, idempotentSubmits: true }
      : { kind: 'local' }),
    ...options.providerSettings,
  }
  const second = options.secondProviderFor
  await writeFile(
    providersFile,
    JSON.stringify(
      options.routingConfig?.(vendor) ?? {
        providers: { [provider]: settings, ...(second !== undefined && { second: settings }) },
        models: second === undefined ? {} : { [second]: { provider: 'second' } },
      },
    ),
  )
  const slowProbe = join(directory, 'slow-ffprobe')
  if (options.probeDelaySeconds !== undefined) {
    await writeFile(slowProbe, `#!/bin/sh\nsleep ${options.probeDelaySeconds}\nexec ffprobe "$@"\n`, {
      mode: 0o755,
    })
  }
  const localUrl = `http://127.0.0.1:${ports.local}`
  const environment: Environment = {
    ...testEnvironment(await reach(database.url), directory),
    PORT: String(ports.api),
    REDIS_URL: await reach(inject('redisUrl')),
    RESTATE_INGRESS_URL: await reach(`http://127.0.0.1:${ports.ingress}`),
    RESTATE_ADMIN_URL: await reach(`http://127.0.0.1:${ports.admin}`),
    WORKER_PORT: String(ports.worker),
    LOCAL_URL: await reach(localUrl),
    LOCAL_DIRECTORY: join(directory, 'local'),
    PROVIDERS_FILE: providersFile,
    LOG_LEVEL: 'info',
    ...(options.probeDelaySeconds !== undefined && {
      FFPROBE_PATH: slowProbe,
      ...withoutSandbox,
    }),
    ...options.environment,
  }
  const logFile = (name: string) => join(directory, 'logs', `${name}.log`)
  const role = (name: 'api' | 'worker', index = 0) =>
    roleProcess(
      name,
      { ...environment, ...settingsOf(name), ...options.roleEnvironments?.[name] },
      logFile(`${name}-${index}`),
      lineOf(name, join(directory, 'media')),
    )
  const api = role('api')
  const workers = Array.from({ length: workerCount }, (_, index) => role('worker', index))
  const local = roleProcess('local', { ...environment, LOCAL_URL: localUrl }, logFile('local-0'))
  if (provider === 'local') await local.start()
  await Promise.all([api.start(), ...workers.map((worker) => worker.start())])

  const accountId = await createAccount(database.postgres, { balance: 100_000 })
  const { text: key } = await createKey(database.postgres, accountId)
  const url = `http://${apiAddress}:${ports.api}`

  const counted = async (text: string) => {
    const { rows } = await database.postgres.query<{ name: string; count: number }>(text)
    return Object.fromEntries(rows.map(({ name, count }) => [name, count]))
  }

  return {
    url,
    key,
    accountId,
    directory,
    database,
    vendor,
    api,
    workers,
    local,
    engine: {
      pid: () => restate?.pid(),
      adminUrl: `http://127.0.0.1:${ports.admin}`,
      stop: stopEngine,
      start: startEngine,
      empty: () => rm(join(directory, 'restate'), { recursive: true, force: true }),
    },
    create: async (prompt, fields = {}) => {
      const answer = await ask(`${url}/v1/videos`, key, {
        method: 'POST',
        body: form({ model: 'vidB-2', prompt, seconds: '4', size: '480x480', ...fields }),
      })
      if (answer.status !== 200) throw new Error(`a create failed: ${JSON.stringify(answer)}`)
      return String(answer.body['id'])
    },
    states: () => counted('select state as name, count(*) from video_tasks group by state'),
    stages: () => counted('select stage as name, count(*) from open_tasks group by stage'),
    until: async (what, holds, withinMs = minutes(4)) => {
      const startedMs = performance.now()
      while (!(await holds())) {
        if (performance.now() - startedMs > withinMs)
          throw new Error(`timed out after ${withinMs} ms, waiting until ${what}`)
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
      return performance.now() - startedMs
    },
    assertLedger: async ({ completed, failed, captures = 0, releases = 0 }) => {
      const { rows } = await database.postgres.query<Record<string, number>>(
        `select (select count(*) from video_tasks where state = 'completed') as completed,
                (select count(*) from video_tasks where state = 'failed') as failed,
                (select count(*) from video_tasks where finished_at is null) as unfinished,
                (select count(*) from open_tasks) as open,
                (select count(*) from ledger_entries where movement = 'capture' and book = 'revenue') as captures,
                (select count(*) from ledger_entries where movement = 'release' and book = 'available') as releases,
                (select coalesce(sum(held_micros), 0) from balances) as held,
                (select count(*) from (select task_id from task_events where kind in ('completed', 'failed')
                   group by task_id having count(*) > 1) twice) as "endedTwice"`,
      )
      const broken = await brokenInvariants(database.postgres)
      if (broken.length > 0) throw new Error(`the ledger audit found ${broken.join('; ')}`)
      const found = rows[0]
      const wanted = {
        completed,
        failed,
        unfinished: 0,
        open: 0,
        captures: completed + captures,
        releases: failed + releases,
        held: 0,
        endedTwice: 0,
      }
      for (const [name, value] of Object.entries(wanted)) {
        if (found?.[name] !== value) {
          throw new Error(`the ledger is ${JSON.stringify(found)}, expected ${JSON.stringify(wanted)}`)
        }
      }
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all([api.stop(), local.stop(), ...workers.map((worker) => worker.stop())])
      await stopEngine()
      await dispose()
      if (existing === undefined) {
        await vendor.close()
        await database[Symbol.asyncDispose]()
      }
      if (process.env['KEEP_STACKS'] === undefined) await rm(directory, { recursive: true, force: true })
    },
  }
}
