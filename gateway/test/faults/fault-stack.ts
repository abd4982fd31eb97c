/**
 * The whole service on parts of its own: PostgreSQL, Redis, Restate, two APIs, two workers and two vendors. Every part
 * can be killed, paused and started again.
 */
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

import { inject } from 'vitest'

import type { Environment } from '../../src/config.ts'
import { createLog } from '../../src/platform/log.ts'
import { migrate } from '../../src/platform/migrate.ts'
import { connectPostgres, type Postgres } from '../../src/platform/postgres.ts'
import { openStorage } from '../../src/storage/open-storage.ts'
import type { MediaStore } from '../../src/storage/port/media-store.ts'
import { parseBucketUrl } from '../../src/storage/s3/bucket-url.ts'
import { reservePorts } from '../kit/reserve-ports.ts'
import { testEnvironment } from '../kit/start-gateway.ts'
import { startBucket, type BucketPart } from './bucket-part.ts'
import { mountMediaDisk, type MediaDisk } from './media-disk.ts'
import { mutationNotice, runWith, type Mutation } from './mutation.ts'
import { createPart, type Part } from './part.ts'
import { createPostgresCluster, type PostgresCluster } from './postgres-cluster.ts'
import { createRedisPart, type RedisPart } from './redis-part.ts'
import { startRestatePart, type RestatePart } from './restate-part.ts'
import { createVendorPart, type VendorPart } from './vendor-part.ts'

/** How a stack differs from the usual one, for a control or a benchmark. */
export interface StackChanges {
  environment?: Environment
  mutation?: Mutation
  postgresSettings?: string[]
  engineSettings?: Record<string, string>
  /** Settings of both providers. */
  providerSettings?: Record<string, unknown>
  /** How many APIs and workers are started. */
  processes?: { apis: 1 | 2; workers: number }
  /** The directory of the videos that prompts name with `vendor:video=`. */
  videoDirectory?: string
  /** Gives the media directory a disk of its own, which faults can fill. */
  hasMediaDisk?: boolean
  /** Stores the media in a bucket instead of the media directory. */
  hasBucket?: boolean
  /** Runs the source instead of the bundle. */
  isFromSource?: boolean
}

/** What customers use and the judge reads. */
export interface WatchedStack {
  postgres: Pick<PostgresCluster, 'query'>
  workers: readonly [Part, ...Part[]]
  vendors: Record<VendorName, VendorPart>
  /** The media of the service. */
  mediaStore: MediaStore
  origins: string[]
  /** The reasons of processes that ended although no fault has ended them. */
  crashes: string[]
  /** Calls back with the product's own access to the database, which must not be open during a fault. */
  withDatabase: <Result>(work: (postgres: Postgres) => Promise<Result>) => Promise<Result>
}

export interface FaultStack extends WatchedStack, AsyncDisposable {
  directory: string
  postgres: PostgresCluster
  redis: RedisPart
  restate: RestatePart
  /** Also those that were not started. */
  apis: AtLeastTwo
  workers: AtLeastTwo
  /** Only if the stack was started with it. */
  mediaDisk: MediaDisk | undefined
  bucket: BucketPart | undefined
  /** The worker that has completed the most tasks: the engine's few connections may all lead to one of them. */
  busiestWorker: () => Promise<Part>
}

type AtLeastTwo = readonly [Part, Part, ...Part[]]

/** `repeatable` recognizes a repeated submit; `findable` does not, but its jobs can be looked up. */
export type VendorName = 'repeatable' | 'findable'
const vendorNames: VendorName[] = ['repeatable', 'findable']
/**
 * The models are named after their vendor. `either` is served by `repeatable` while `findable` cannot be reached.
 * `unknowable` is served by `findable` without lookups, so that a lost response to a submit is never resolved.
 */
export type ModelName = VendorName | 'either' | 'unknowable'
export const modelOf: Record<ModelName, string> = {
  repeatable: 'vidB-2',
  findable: 'vidB-2-pro',
  either: 'vidB-either',
  unknowable: 'vidB-unknowable',
}
/** The models that customers use steadily. Every fault may lose the responses of their submits. */
export const modelNames: ModelName[] = [...vendorNames, 'either']
export const modelsOfAudio = { speech: 'chat-4o-mini-tts-2025-12-15', transcription: 'asr-1' }

export const apiKey = 'vendor-key-of-tests'
const jobMs = 500
const source = fileURLToPath(new URL('../../../cli/src/kinora.ts', import.meta.url))

export const providersOf = (
  vendors: Record<VendorName, VendorPart>,
  given: StackChanges['providerSettings'],
) => {
  const common = {
    ...{ kind: 'openai', apiKey, slots: 20_000, pollIntervalMsMin: 250, pollIntervalMsMax: 2_000 },
    // So that only the limits of downloads bound them.
    connections: 1_000,
    // The default of a minute would only make the runs longer.
    submitTimeoutMs: 10_000,
    ...given,
  }
  const video = {
    ...{ kind: 'video', family: 'B', seconds: [4], sizes: ['480x480'], images: 1 },
    prices: [{ unit: 'second', micros: 100_000 }],
  }
  return {
    providers: {
      repeatable: { ...common, baseUrl: vendors.repeatable.url, idempotentSubmits: true },
      findable: { ...common, baseUrl: vendors.findable.url, idempotentSubmits: false, lookup: true },
      unknowable: { ...common, baseUrl: vendors.findable.url, idempotentSubmits: false },
    },
    models: {
      ...Object.fromEntries(vendorNames.map((name) => [modelOf[name], { routes: [{ provider: name }] }])),
      ...Object.fromEntries(
        Object.values(modelsOfAudio).map((model) => [model, { routes: [{ provider: 'repeatable' }] }]),
      ),
      [modelOf.either]: {
        ...video,
        routes: [
          { provider: 'findable', order: 1 },
          { provider: 'repeatable', order: 2 },
        ],
      },
      [modelOf.unknowable]: { ...video, routes: [{ provider: 'unknowable' }] },
    },
  }
}

export const startFaultStack = async ({
  environment: given,
  mutation,
  postgresSettings,
  engineSettings,
  providerSettings,
  processes = { apis: 2, workers: 2 },
  videoDirectory,
  hasMediaDisk = false,
  hasBucket = false,
  isFromSource = mutation !== undefined,
}: StackChanges = {}): Promise<FaultStack> => {
  await using started = new AsyncDisposableStack()
  const directory = await mkdtemp(join(tmpdir(), 'kinora-faults-'))
  started.defer(async () => {
    if (process.env['KEEP_STACKS'] === undefined) await rm(directory, { recursive: true, force: true })
  })
  const logDirectory = join(directory, 'logs')
  await Promise.all([mkdir(logDirectory), mkdir(join(directory, 'media'))])
  const mediaDisk = hasMediaDisk ? started.use(await mountMediaDisk(join(directory, 'media'))) : undefined
  const bucket = hasBucket ? started.use(await startBucket(directory)) : undefined
  // The credentials of the store below.
  if (bucket !== undefined) Object.assign(process.env, bucket.environment)
  const { mediaStore } = await openStorage({
    MEDIA_DIRECTORY: join(directory, 'media'),
    ...(bucket !== undefined && { MEDIA_STORE: parseBucketUrl(bucket.environment['MEDIA_STORE'] ?? '') }),
  })
  const ports = await reservePorts(directory, [
    ...(['postgres', 'redis', 'ingress', 'admin', 'node', 'worker', 'api0', 'api1'] as const),
    ...vendorNames,
  ])
  const createVendor = (name: VendorName) =>
    createVendorPart(name, {
      port: ports[name],
      logDirectory,
      arguments: [
        ...['--api-key', apiKey, '--duration-ms', String(jobMs)],
        '--distinct-videos',
        ...(videoDirectory === undefined ? [] : ['--videos', videoDirectory]),
        ...(name === 'findable' ? ['--ignore-idempotency-key'] : []),
      ],
    })
  const vendors = { repeatable: createVendor('repeatable'), findable: createVendor('findable') }
  const redis = createRedisPart(ports.redis, logDirectory)
  const providersFile = join(directory, 'providers.yaml')
  await writeFile(providersFile, JSON.stringify(providersOf(vendors, providerSettings)))

  const startPostgres = async () => {
    const postgres = await createPostgresCluster(directory, ports.postgres, logDirectory, postgresSettings)
    // An immediate shutdown, because nothing of the cluster is needed any more.
    started.defer(() => postgres.kill('SIGQUIT'))
    return postgres
  }
  const startRestate = async () =>
    started.use(await startRestatePart(directory, ports, logDirectory, engineSettings))
  const start = async (part: Part) => {
    started.defer(() => part.kill())
    await part.start()
  }
  const [postgres, restate] = await Promise.all([
    startPostgres(),
    startRestate(),
    ...[redis, vendors.repeatable, vendors.findable].map(start),
  ])
  const withDatabase: FaultStack['withDatabase'] = async (work) => {
    const connected = connectPostgres(
      { url: postgres.url, connectionsMax: 2 },
      createLog({ level: 'silent' }, 'test'),
    )
    try {
      return await work(connected)
    } finally {
      await connected.close()
    }
  }
  await withDatabase(migrate)

  const { execArguments, environment: ofMutation } = runWith(mutation)
  const program = isFromSource ? source : inject('command')
  const environment: Environment = {
    PATH: process.env['PATH'],
    ...testEnvironment(postgres.url, directory),
    // Every customer has an address of its own.
    TRUSTED_PROXIES: '127.0.0.1',
    // The defaults, which tests of single operations switch off.
    LIMIT_ADDRESS_PER_3_MINUTES: '',
    LIMIT_CONNECTIONS_PER_ADDRESS: '',
    OVERLOAD_WAITING_CREATES: '',
    OVERLOAD_EVENT_LOOP_DELAY_MS: '',
    REDIS_TIMEOUT_MS: '',
    DATABASE_CONNECT_TIMEOUT_MS: '',
    DATABASE_STATEMENT_TIMEOUT_MS: '',
    DATABASE_LOCK_TIMEOUT_MS: '',
    REDIS_URL: redis.url,
    RESTATE_INGRESS_URL: `http://127.0.0.1:${ports.ingress}`,
    RESTATE_ADMIN_URL: `http://127.0.0.1:${ports.admin}`,
    WORKER_PORT: String(ports.worker),
    PROVIDERS_FILE: providersFile,
    LOG_LEVEL: 'info',
    ...bucket?.environment,
    ...ofMutation,
    ...given,
  }
  const crashes: string[] = []
  const createRole = (name: string, kind: 'api' | 'worker', more: Environment = {}) =>
    createPart({
      name,
      line: [process.execPath, ...execArguments, program, kind],
      environment: {
        ...environment,
        // So that the connections of each process can be told apart.
        DATABASE_URL: `${postgres.url}?application_name=${name}`,
        ...more,
      },
      logDirectory,
      hasChannel: true,
      untilReady: (child) => once(child, 'message'),
      onCrash: (reason) => crashes.push(reason),
    })
  const apis = [
    createRole('api-0', 'api', { PORT: String(ports.api0) }),
    createRole('api-1', 'api', { PORT: String(ports.api1) }),
  ] as const
  const createWorker = (index: number) => createRole(`worker-${index}`, 'worker')
  const workers = [
    createWorker(0),
    createWorker(1),
    ...Array.from({ length: Math.max(0, processes.workers - 2) }, (_, index) => createWorker(index + 2)),
  ] as const
  const roles = [...apis.slice(0, processes.apis), ...workers.slice(0, processes.workers)]
  await Promise.all(roles.map(start))
  const logOf = (name: string) => readFile(join(logDirectory, `${name}.log`), 'utf8')
  if (mutation !== undefined) {
    const logs = await Promise.all(roles.map(({ name }) => logOf(name)))
    // A control whose mutation is not loaded would show nothing.
    if (!logs.some((log) => log.includes(mutationNotice)))
      throw new Error('no role has loaded the mutated file')
  }

  const busiestWorker = async () => {
    const completed = await Promise.all(
      workers.map(async ({ name }) => (await logOf(name)).split('"video.completed"').length),
    )
    return (completed[0] ?? 0) >= (completed[1] ?? 0) ? workers[0] : workers[1]
  }

  // From here on the caller disposes of the parts.
  const all = started.move()
  return {
    directory,
    postgres,
    redis,
    restate,
    apis,
    workers,
    vendors,
    mediaDisk,
    bucket,
    mediaStore,
    origins: [ports.api0, ports.api1].map((port) => `http://127.0.0.1:${port}`),
    busiestWorker,
    crashes,
    withDatabase,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  }
}
