/**
 * The service on many machines, each of which is a network namespace: three APIs, three workers, two built-in providers, three
 * nodes of Restate, PostgreSQL with a synchronous standby, Redis with sentinels, an S3 server, and HAProxy with the shipped
 * configuration. The simulated vendor has a machine of its own, and the customers are on this one.
 */
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { inject } from 'vitest'

import type { Environment } from '../../src/config.ts'
import { createLog } from '../../src/platform/log.ts'
import { migrate } from '../../src/platform/migrate.ts'
import { connectPostgres } from '../../src/platform/postgres.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import { parseBucketUrl } from '../../src/storage/s3/bucket-url.ts'
import { apiKey, modelsOfAudio, providersOf, type WatchedStack } from '../faults/fault-stack.ts'
import { createPart, until, type Part } from '../faults/part.ts'
import { createVendorPart } from '../faults/vendor-part.ts'
import { startCeph, type Ceph } from '../kit/ceph.ts'
import { createNetwork, type Machine } from '../kit/machine.ts'
import { reservePorts } from '../kit/reserve-ports.ts'
import { testEnvironment } from '../kit/start-gateway.ts'
import { withChildren } from './kill-children.ts'
import { lineAt } from './machine-line.ts'
import { startPostgresPair, type PostgresPair } from './postgres-pair.ts'
import { startRedisSentinels, type RedisSentinels } from './redis-sentinels.ts'
import { enginePorts, startRestateNodes } from './restate-nodes.ts'

/** One more of each role, for a fault that adds and removes machines. */
const roleCount = 4
export const rolesAtStart = 3
const names = [
  ...(['proxy', 'db-1', 'db-2', 'redis-1', 'redis-2', 'redis-3', 's3', 'vendor'] as const),
  ...(['restate-1', 'restate-2', 'restate-3', 'local-1', 'local-2'] as const),
  ...(['api-1', 'api-2', 'api-3', 'api-4', 'worker-1', 'worker-2', 'worker-3', 'worker-4'] as const),
]
export type MachineName = (typeof names)[number]

export interface ClusterStack extends WatchedStack, AsyncDisposable {
  directory: string
  machines: Record<MachineName, Machine>
  database: PostgresPair
  redis: RedisSentinels
  restate: Part[]
  ceph: Ceph
  proxy: Part
  locals: Part[]
  /** The fourth of each role is not started. */
  apis: Part[]
  /** Lets HAProxy use that many APIs and workers. */
  setRoles: (count: number) => Promise<void>
  /** Which version a role runs when it is started next: the path of its bundle. */
  setVersion: (role: Part, command: string) => Promise<void>
}

const apiPort = 8787
const workerPort = 9180
const localPort = 9190
const jobMs = 500

export const startClusterStack = async (): Promise<ClusterStack> => {
  await using started = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'kinora-cluster-'))
  started.defer(async () => {
    if (process.env['KEEP_STACKS'] === undefined) await rm(directory, { recursive: true, force: true })
  })
  await chmod(directory, 0o711)
  const [logDirectory, ownDirectory, bin] = ['logs', 'own', 'bin'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ]
  await Promise.all([logDirectory, ownDirectory, bin, join(directory, 'ceph')].map((each) => mkdir(each)))
  const { number } = await reservePorts(directory, ['number'])
  // For the program that cleans up if this process is killed.
  const cleanup = process.env['CLUSTER_CLEANUP']
  if (cleanup !== undefined)
    await writeFile(cleanup, JSON.stringify({ bridge: `kinora${number}`, directory }))
  const network = started.use(await createNetwork(number))
  const made: Partial<Record<MachineName, Machine>> = {}
  for (const name of names) made[name] = await network.addMachine()
  const machines = made as Record<MachineName, Machine>
  const machine = (name: MachineName) => machines[name]

  const start = async (part: Part) => {
    started.defer(() => part.kill())
    await part.start()
  }
  const startMedia = async () => {
    const ceph = await startCeph(join(directory, 'ceph'), machine('s3'))
    started.defer(() => ceph.stop())
    const credentials = { accessKeyId: ceph.accessKeyId, secretAccessKey: ceph.secretAccessKey }
    const region = 'us-east-1'
    const s3 = new S3Client({ endpoint: ceph.endpoint, region, credentials, forcePathStyle: true })
    for (const Bucket of ['media', 'engine']) await s3.send(new CreateBucketCommand({ Bucket }))
    s3.destroy()
    return ceph
  }
  const startDatabase = async () => {
    const database = await startPostgresPair(
      directory,
      [
        { ...machine('db-1'), port: 5432 },
        { ...machine('db-2'), port: 5432 },
      ],
      logDirectory,
    )
    started.defer(() => database.stop())
    return database
  }
  const startRedis = async () => {
    const at = (name: MachineName) => ({ ...machine(name), port: 6379, sentinelPort: 26_379 })
    const redis = await startRedisSentinels(
      directory,
      [at('redis-1'), at('redis-2'), at('redis-3')],
      logDirectory,
    )
    started.defer(() => redis.stop())
    return redis
  }
  const createVendor = (name: 'repeatable' | 'findable', port: number) =>
    createVendorPart(name, {
      ...{ port, logDirectory, place: machine('vendor') },
      arguments: [
        ...['--api-key', apiKey, '--duration-ms', String(jobMs), '--distinct-videos'],
        ...(name === 'findable' ? ['--ignore-idempotency-key'] : []),
      ],
    })
  const vendors = { repeatable: createVendor('repeatable', 9300), findable: createVendor('findable', 9301) }

  const proxyFile = join(directory, 'haproxy.cfg')
  const shipped = await readFile(new URL('../../../deploy/haproxy/haproxy.cfg', import.meta.url), 'utf8')
  /** The shipped file with the addresses in place of the names, and lines for the fourth machines. */
  const writeProxy = async (count: number) => {
    const lines = shipped.split('\n').flatMap((line) => {
      if (!/^ {2}server (?:api|worker)-3 /.test(line)) return line
      return Array.from({ length: Math.max(0, count - 2) }, (_, index) =>
        line.replaceAll('-3', `-${index + 3}`),
      )
    })
    const text = lines
      .join('\n')
      .replaceAll(/ ((?:api|worker|restate)-\d):/g, (_, name: MachineName) => ` ${machine(name).address}:`)
    await writeFile(proxyFile, text)
  }
  await writeProxy(rolesAtStart)
  const proxy = withChildren(
    createPart({
      name: 'proxy',
      line: lineAt(machine('proxy'), ['haproxy', '-W', '-db', '-f', proxyFile]),
      environment: { PATH: process.env['PATH'] },
      logDirectory,
      untilReady: () => until('HAProxy listens', async () => (await fetch(`${url}/livez`)).status < 600),
    }),
  )
  const url = `http://${machine('proxy').address}:${apiPort}`

  const [ceph, database, redis] = await Promise.all([
    startMedia(),
    startDatabase(),
    startRedis(),
    start(vendors.repeatable),
    start(vendors.findable),
    start(proxy),
  ])
  const restate = await startRestateNodes(
    directory,
    [machine('restate-1'), machine('restate-2'), machine('restate-3')],
    { url: 's3://engine/snapshots', ...ceph },
    logDirectory,
  )
  for (const node of restate) started.defer(() => node.kill())

  const withDatabase: ClusterStack['withDatabase'] = async (work) => {
    const connected = connectPostgres(
      { url: database.url, connectionsMax: 2 },
      createLog({ level: 'silent' }, 'test'),
    )
    try {
      return await work(connected)
    } finally {
      await connected.close()
    }
  }
  await withDatabase(migrate)

  const configured = providersOf(vendors, {})
  const localUrl = (index: number) => `http://${machine(`local-${index === 0 ? 1 : 2}`).address}:${localPort}`
  const providersFile = join(directory, 'providers.yaml')
  await writeFile(
    providersFile,
    JSON.stringify({
      providers: {
        ...configured.providers,
        'local-1': { kind: 'local', baseUrl: localUrl(0) },
        'local-2': { kind: 'local', baseUrl: localUrl(1) },
      },
      models: {
        ...configured.models,
        [modelsOfAudio.speech]: { routes: [{ provider: 'local-1' }, { provider: 'local-2' }] },
      },
    }),
  )
  const nodesAt = (port: number) =>
    (['restate-1', 'restate-2', 'restate-3'] as const)
      .map((name) => `http://${machine(name).address}:${port}`)
      .join()
  const proxyAt = (port: number) => `http://${machine('proxy').address}:${port}`
  const store: Environment = {
    MEDIA_STORE: `s3://media?endpoint=${encodeURIComponent(ceph.endpoint)}&region=us-east-1&path_style=true`,
    AWS_ACCESS_KEY_ID: ceph.accessKeyId,
    AWS_SECRET_ACCESS_KEY: ceph.secretAccessKey,
  }
  // The credentials of the store below.
  Object.assign(process.env, store)
  const { mediaStore } = await openStorage({
    MEDIA_DIRECTORY: join(directory, 'media'),
    MEDIA_STORE: parseBucketUrl(store['MEDIA_STORE'] ?? ''),
  })
  const environment: Environment = {
    PATH: process.env['PATH'],
    // The only directory of the machine that can be written.
    TMPDIR: ownDirectory,
    ...testEnvironment(database.url, ownDirectory),
    ...store,
    // Customers have addresses of their own, as this machine reports them.
    TRUSTED_PROXIES: '100.64.0.0/10',
    LIMIT_ADDRESS_PER_3_MINUTES: '',
    LIMIT_CONNECTIONS_PER_ADDRESS: '',
    OVERLOAD_WAITING_CREATES: '',
    REDIS_TIMEOUT_MS: '',
    DATABASE_CONNECT_TIMEOUT_MS: '',
    DATABASE_STATEMENT_TIMEOUT_MS: '',
    DATABASE_LOCK_TIMEOUT_MS: '',
    REDIS_URL: redis.url,
    RESTATE_ADMIN_URL: nodesAt(enginePorts.admin),
    PUBLIC_URL: url,
    PROVIDERS_FILE: providersFile,
    LAME_DUCK_SECONDS: '3',
    LOG_LEVEL: 'info',
  }
  const crashes: string[] = []
  const linkOf = (name: string) => join(bin, `${name}.js`)
  const setVersion = async (name: string, command: string) => {
    await rm(linkOf(name), { force: true })
    await symlink(command, linkOf(name))
  }
  const createRole = async (name: MachineName, role: 'api' | 'worker' | 'local', more: Environment) => {
    await setVersion(name, inject('command'))
    return createPart({
      name,
      line: machine(name).lineOf(ownDirectory, [process.execPath, linkOf(name), role]),
      environment: { ...environment, ...more },
      logDirectory,
      hasChannel: true,
      untilReady: (child) => once(child, 'message'),
      onCrash: (reason) => crashes.push(reason),
    })
  }
  const each = <Result>(create: (index: number) => Promise<Result>, count = roleCount) =>
    Promise.all(Array.from({ length: count }, (_, index) => create(index)))
  const locals = await each(
    (index) =>
      createRole(index === 0 ? 'local-1' : 'local-2', 'local', {
        LOCAL_URL: localUrl(index),
        LOCAL_DIRECTORY: join(ownDirectory, 'local'),
        // Without models, its speech takes little processor time.
        MODEL_DIR: join(ownDirectory, 'models'),
      }),
    2,
  )
  const nameOf = (role: 'api' | 'worker', index: number) => `${role}-${index + 1}` as MachineName
  const apis = await each(async (index) => {
    const name = nameOf('api', index)
    // The APIs reach the engine through the proxy, and the workers its nodes.
    const engine = { RESTATE_INGRESS_URL: proxyAt(enginePorts.ingress) }
    return createRole(name, 'api', { HOST: machine(name).address, PORT: String(apiPort), ...engine })
  })
  const [worker, ...moreWorkers] = await each(async (index) => {
    const name = nameOf('worker', index)
    return createRole(name, 'worker', {
      WORKER_HOST: machine(name).address,
      WORKER_PORT: String(workerPort),
      WORKER_URL: proxyAt(workerPort),
      RESTATE_INGRESS_URL: nodesAt(enginePorts.ingress),
    })
  })
  if (worker === undefined) throw new Error('there is no worker')
  const workers = [worker, ...moreWorkers] as const
  for (const part of [...apis, ...workers]) started.defer(() => part.kill())
  await Promise.all(locals.map(start))
  await Promise.all(
    [...apis.slice(0, rolesAtStart), ...workers.slice(0, rolesAtStart)].map((part) => part.start()),
  )
  await until('HAProxy has an API', async () => (await fetch(`${url}/readyz`)).ok)

  // From here on the caller disposes of the parts.
  const all = started.move()
  return {
    ...{ directory, machines, database, redis, restate, ceph, proxy, locals, apis, workers, vendors },
    ...{ mediaStore, crashes, withDatabase, origins: [url], postgres: { query: database.query } },
    setRoles: async (count) => {
      await writeProxy(count)
      const pid = proxy.pid()
      if (pid === undefined) throw new Error('HAProxy does not run')
      process.kill(pid, 'SIGUSR2')
    },
    setVersion: ({ name }, command) => setVersion(name, command),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}
