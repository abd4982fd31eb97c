/** The whole service with faults at hand, customers who use it, and Prometheus and Alertmanager that watch it. */
import { chmod, mkdir, mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { startVendor } from '../../../dev/vendor/vendor.ts'
import { createLog } from '../../src/platform/log.ts'
import { migrate } from '../../src/platform/migrate.ts'
import { connectPostgres } from '../../src/platform/postgres.ts'
import { startBucket, type BucketPart } from '../faults/bucket-part.ts'
import { mountMediaDisk, type MediaDisk } from '../faults/media-disk.ts'
import { createPostgresCluster, type PostgresCluster } from '../faults/postgres-cluster.ts'
import { ask } from '../kit/answers.ts'
import { startFaultyProxy, type FaultyProxy } from '../kit/faulty-proxy.ts'
import { reservePorts } from '../kit/reserve-ports.ts'
import { manyRequests, startStack, type Stack } from '../kit/stack.ts'
import { vendorKey } from '../kit/vendor-gateway.ts'
import { startAlerting, type Alerting } from './alerting.ts'

export interface MonitoredStack extends AsyncDisposable {
  stack: Stack
  postgres: PostgresCluster
  proxy: FaultyProxy
  bucket: BucketPart
  disk: MediaDisk
  adminUrl: string
  alerting: Alerting
  /** Sends creates with this many connections at once until it is aborted. */
  flood: (connections: number, signal: AbortSignal) => Promise<void>
}

const roles = ['api', 'worker', 'local'] as const
const createEveryMs = 500
const readEveryMs = 100

/** Fails while a fault lasts. */
const attempt = async (work: () => Promise<unknown>) => {
  try {
    await work()
  } catch {
    return
  }
}

const createTask = ({ url, key }: Stack, prompt: string) =>
  ask(`${url}/v1/videos`, key, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'vidB-2', prompt, seconds: '4', size: '480x480' }),
  })

/** Customers who create and read tasks at a constant rate, whatever the service responds. */
const useService = async (stack: Stack, signal: AbortSignal): Promise<void> => {
  const repeat = async (everyMs: number, work: () => Promise<unknown>) => {
    while (!signal.aborted) {
      void attempt(work)
      await sleep(everyMs)
    }
  }
  await Promise.all([
    repeat(createEveryMs, () => createTask(stack, 'a lighthouse')),
    repeat(readEveryMs, () => ask(`${stack.url}/v1/videos?limit=5`, stack.key)),
  ])
}

export const startMonitoredStack = async (factor: number): Promise<MonitoredStack> => {
  await using started = new AsyncDisposableStack()
  const { path: directory } = started.use(await mkdtempDisposable(join(tmpdir(), 'kinora-alerts-')))
  // The user of PostgreSQL has to reach its cluster in it.
  await chmod(directory, 0o711)
  const [logDirectory, media] = [join(directory, 'logs'), join(directory, 'media')]
  await Promise.all([mkdir(logDirectory), mkdir(media)])
  const disk = started.use(await mountMediaDisk(media))
  const bucket = started.use(await startBucket(directory))
  const ports = await reservePorts(directory, [...roles, 'postgres', 'prometheus', 'alertmanager'])
  const postgres = await createPostgresCluster(directory, ports.postgres, logDirectory, ['fsync=off'])
  started.defer(() => postgres.kill('SIGQUIT'))
  const pool = connectPostgres(
    { url: postgres.url, connectionsMax: 4 },
    createLog({ level: 'silent' }, 'test'),
  )
  started.defer(() => pool.close())
  await migrate(pool)
  const vendor = started.adopt(await startVendor({ apiKey: vendorKey }), (each) => each.close())
  const proxy = started.use(await startFaultyProxy(vendor.url))
  const database = { url: postgres.url, postgres: pool, [Symbol.asyncDispose]: async () => undefined }
  const metricsOf = (role: (typeof roles)[number]) => ({ METRICS_PORT: String(ports[role]) })
  const stack = started.use(
    await startStack({
      existing: { database, vendor },
      providerSettings: { baseUrl: proxy.url, submitTimeoutMs: 10_000 },
      environment: {
        ...manyRequests,
        ...metricsOf('local'),
        ...bucket.environment,
        MEDIA_DIRECTORY: media,
        OVERLOAD_WAITING_CREATES: '5',
        DATABASE_CONNECT_TIMEOUT_MS: '',
        DATABASE_STATEMENT_TIMEOUT_MS: '',
      },
      roleEnvironments: { api: metricsOf('api'), worker: metricsOf('worker') },
    }),
  )
  await stack.local.start()
  const alerting = started.use(
    await startAlerting({
      directory: join(directory, 'alerting'),
      ports,
      targets: Object.fromEntries(roles.map((role) => [`kinora-${role}`, `127.0.0.1:${ports[role]}`])),
      factor,
    }),
  )
  const stopping = new AbortController()
  const using = useService(stack, stopping.signal)
  started.defer(async () => {
    stopping.abort()
    await using
  })
  const owned = started.move()
  return {
    ...{ stack, postgres, proxy, bucket, disk, alerting, adminUrl: stack.engine.adminUrl },
    flood: async (connections, signal) => {
      const one = async () => {
        while (!signal.aborted) await attempt(() => createTask(stack, 'a crowd'))
      }
      await Promise.all(Array.from({ length: connections }, one))
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
