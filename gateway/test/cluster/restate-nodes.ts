/** Three nodes of Restate, which replicate their logs to each other and write snapshots to a bucket. */
import { mkdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'

import { createPart, until, type Part } from '../faults/part.ts'
import { lineAt, type Place } from './machine-line.ts'

export const enginePorts = { node: 5122, ingress: 8080, admin: 9070 }

interface SnapshotBucket {
  url: string
  endpoint: string
  accessKeyId: string
  secretAccessKey: string
}

const program = createRequire(import.meta.url).resolve(
  `@restatedev/restate-server-${process.platform}-${process.arch}/bin/restate-server`,
)

export const startRestateNodes = async (
  directory: string,
  places: readonly Place[],
  snapshots: SnapshotBucket,
  logDirectory: string,
): Promise<Part[]> => {
  const addresses = places.map(({ address }) => `http://${address}:${enginePorts.node}`)
  const nodes = await Promise.all(
    places.map(async (place, index) => {
      const own = join(directory, `restate-${index}`)
      await mkdir(own)
      // A query needs all partitions.
      const isReady = async () => {
        const response = await fetch(`http://${place.address}:${enginePorts.admin}/query`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', accept: 'application/json' },
          body: JSON.stringify({ query: 'SELECT count(1) FROM sys_invocation' }),
          signal: AbortSignal.timeout(5_000),
        })
        await response.body?.cancel()
        return response.ok
      }
      return createPart({
        name: `restate-${index}`,
        line: lineAt(place, [program, '--no-logo', '--base-dir', join(own, 'data')]),
        environment: {
          PATH: process.env['PATH'],
          RESTATE_CLUSTER_NAME: 'kinora',
          RESTATE_NODE_NAME: `node-${index + 1}`,
          RESTATE_FORCE_NODE_ID: String(index + 1),
          RESTATE_AUTO_PROVISION: String(index === 0),
          RESTATE_DEFAULT_NUM_PARTITIONS: '4',
          RESTATE_DEFAULT_REPLICATION: '2',
          RESTATE_METADATA_CLIENT__ADDRESSES: JSON.stringify(addresses),
          RESTATE_LISTEN_MODE: 'tcp',
          RESTATE_BIND_IP: place.address,
          RESTATE_ADVERTISED_HOST: place.address,
          RESTATE_BIND_PORT: String(enginePorts.node),
          RESTATE_INGRESS__BIND_PORT: String(enginePorts.ingress),
          RESTATE_ADMIN__BIND_PORT: String(enginePorts.admin),
          RESTATE_WORKER__SNAPSHOTS__DESTINATION: snapshots.url,
          RESTATE_WORKER__SNAPSHOTS__AWS_ENDPOINT_URL: snapshots.endpoint,
          RESTATE_WORKER__SNAPSHOTS__AWS_ALLOW_HTTP: 'true',
          RESTATE_WORKER__SNAPSHOTS__AWS_REGION: 'us-east-1',
          RESTATE_WORKER__SNAPSHOTS__AWS_ACCESS_KEY_ID: snapshots.accessKeyId,
          RESTATE_WORKER__SNAPSHOTS__AWS_SECRET_ACCESS_KEY: snapshots.secretAccessKey,
          RESTATE_WORKER__SNAPSHOTS__SNAPSHOT_INTERVAL_NUM_RECORDS: '1000',
          // For three workers.
          RESTATE_WORKER__INVOKER__CONCURRENT_INVOCATIONS_LIMIT: '168',
          RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_INTERVAL: '5s',
          RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_TIMEOUT: '5s',
          RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: '256 MiB',
          RESTATE_DISABLE_TELEMETRY: 'true',
          RESTATE_DISABLE_PROMETHEUS: 'true',
          RESTATE_LOG_FILTER: 'warn,octocrab=off,restate_admin::query_utils=error',
          RESTATE_LOG_DISABLE_ANSI_CODES: 'true',
          RESTATE_SHUTDOWN_TIMEOUT: '5s',
        },
        logDirectory,
        untilReady: () => until(`node ${index + 1} of Restate is ready`, isReady, { withinMs: 120_000 }),
      })
    }),
  )
  await Promise.all(nodes.map((node) => node.start()))
  return nodes
}
