import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { plainEnvironment, startForeign, stopLeftover, type Environment } from './foreign-process.ts'
import { supervise, type Supervised } from './supervise.ts'

const useYourOwn = 'Set RESTATE_INGRESS_URL and RESTATE_ADMIN_URL to use your own Restate server.'
const nodeName = 'kinora'
const readyWithinMs = 60_000
const stopGraceMs = 10_000

interface RestateServerOptions {
  /** `<data>/restate`, which contains the data of the server. */
  directory: string
  ports: { ingress: number; admin: number; node: number }
  environment: Environment
  /** The PEM file of the key with which the server signs its calls; without one it does not sign them. */
  identityKeyFile?: string
  logDirectory: string
  /** Takes effect only on the first start in a directory. */
  partitions?: number
  /** Settings in place of those below, to show what they are for. */
  changedSettings?: Record<string, string>
  log?: (message: string) => void
  onGaveUp?: (reason: string) => void
}

export interface RestateServer {
  ingressUrl: string
  adminUrl: string
  pid(): number | undefined
  stop(): Promise<void>
}

/** Starts the Restate server of the npm package for this platform on 127.0.0.1. */
export async function startRestateServer(options: RestateServerOptions): Promise<RestateServer> {
  const { ports, logDirectory, log = () => {}, onGaveUp } = options
  const directory = resolve(options.directory)
  const binary = findBinary()
  await mkdir(directory, { recursive: true, mode: 0o700 })
  const baseDirectory = join(directory, 'data')
  const pidFile = join(directory, 'server.pid')
  await stopEarlierRun(pidFile, baseDirectory)

  const environment = {
    ...plainEnvironment(options.environment),
    ...settings(options),
    ...options.changedSettings,
  }
  const server = supervise({
    name: 'restate',
    logDirectory,
    log,
    ...(onGaveUp !== undefined && { onGaveUp }),
    start: (output) => {
      const child = startForeign({
        command: binary,
        // The directory is an argument so that the next run can identify this process.
        arguments: ['--no-logo', '--base-dir', baseDirectory],
        environment,
        output,
        signalOnOurDeath: 'SIGTERM',
        workingDirectory: directory,
      })
      if (child.pid !== undefined) void writeFile(pidFile, `${child.pid}\n`).catch(() => {})
      return child
    },
  })
  const adminUrl = `http://127.0.0.1:${ports.admin}`
  try {
    await becomeReady(server, adminUrl)
  } catch (error) {
    await server.stop('SIGTERM', stopGraceMs)
    throw error
  }
  return {
    ingressUrl: `http://127.0.0.1:${ports.ingress}`,
    adminUrl,
    pid: () => server.pid(),
    stop: () => server.stop('SIGTERM', stopGraceMs),
  }
}

function findBinary(): string {
  const platform = `${process.platform}-${process.arch}`
  try {
    return createRequire(import.meta.url).resolve(`@restatedev/restate-server-${platform}/bin/restate-server`)
  } catch (error) {
    throw new Error(`This installation has no Restate server for ${platform}. ${useYourOwn}`, {
      cause: error,
    })
  }
}

function settings(options: RestateServerOptions): Record<string, string> {
  const { ports, identityKeyFile, partitions = 4 } = options
  return {
    RESTATE_CLUSTER_NAME: 'kinora-dev',
    RESTATE_NODE_NAME: nodeName,
    RESTATE_DEFAULT_NUM_PARTITIONS: String(partitions),

    RESTATE_LISTEN_MODE: 'tcp',
    RESTATE_BIND_IP: '127.0.0.1',
    RESTATE_ADVERTISED_HOST: '127.0.0.1',
    RESTATE_BIND_PORT: String(ports.node),
    RESTATE_INGRESS__BIND_PORT: String(ports.ingress),
    RESTATE_ADMIN__BIND_PORT: String(ports.admin),
    ...(identityKeyFile !== undefined && { RESTATE_REQUEST_IDENTITY_PRIVATE_KEY_PEM_FILE: identityKeyFile }),

    RESTATE_DISABLE_TELEMETRY: 'true',
    DO_NOT_TRACK: '1',
    // Silences the update check, which cannot be disabled and fails offline, and the readiness queries that fail
    // until the server is ready.
    RESTATE_LOG_FILTER: 'warn,octocrab=off,restate_admin::query_utils=error',
    RESTATE_LOG_DISABLE_ANSI_CODES: 'true',
    RESTATE_SHUTDOWN_TIMEOUT: '5s',

    RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE: '128 MiB',
    RESTATE_BIFROST__RECORD_CACHE_MEMORY_SIZE: '16 MiB',
    // Per partition. More invocations than one Node process can serve would starve it and stop all progress. Fewer than
    // the long steps of a worker, with a margin, would starve the loops.
    RESTATE_WORKER__INVOKER__CONCURRENT_INVOCATIONS_LIMIT: '72',
    // The calls of a worker that does not respond are soon repeated on another.
    RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_INTERVAL: '5s',
    RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_TIMEOUT: '5s',

    // These settings reduce CPU use while idle. Development needs no metrics, and a single node has no peers. The
    // gossip interval keeps its default, because the server becomes ready only after ten gossip ticks.
    RESTATE_DISABLE_PROMETHEUS: 'true',
    RESTATE_ROCKSDB_PERF_LEVEL: 'disable',
    RESTATE_WORKER__STORAGE__ROCKSDB_DISABLE_STATISTICS: 'true',
    RESTATE_LOG_SERVER__ROCKSDB_DISABLE_STATISTICS: 'true',
    RESTATE_METADATA_SERVER__ROCKSDB_DISABLE_STATISTICS: 'true',
    RESTATE_NETWORKING__HTTP2_KEEP_ALIVE_INTERVAL: '30s',
    RESTATE_METADATA_CLIENT__KEEP_ALIVE_INTERVAL: '30s',
    RESTATE_METADATA_UPDATE_INTERVAL: '60s',
    RESTATE_METADATA_SERVER__STATUS_UPDATE_INTERVAL: '30s',
    RESTATE_METADATA_SERVER__RAFT_TICK_INTERVAL: '1s',
    RESTATE_ADMIN__HEARTBEAT_INTERVAL: '10s',
  }
}

// The server locks its data while it runs, but the lock does not name the process.
async function stopEarlierRun(pidFile: string, baseDirectory: string): Promise<void> {
  if (!existsSync(pidFile)) return
  const pid = Number.parseInt(await readFile(pidFile, 'utf8'), 10)
  if (!(pid > 1)) return
  const isRestate = (commandLine: string): boolean => commandLine.includes(`--base-dir ${baseDirectory} `)
  await stopLeftover(pid, isRestate, 'SIGTERM', stopGraceMs)
}

async function becomeReady(server: Supervised, adminUrl: string): Promise<void> {
  const deadline = Date.now() + readyWithinMs
  let reason = ''
  while (Date.now() < deadline && !server.gaveUp()) {
    // The health endpoint succeeds before the partitions are ready. A query needs all partitions.
    try {
      const response = await fetch(`${adminUrl}/query`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify({ query: 'SELECT count(1) FROM sys_invocation' }),
        signal: AbortSignal.timeout(5_000),
      })
      const text = await response.text()
      if (response.ok) return
      reason = text
    } catch (error) {
      reason = String(error)
    }
    await sleep(50)
  }
  const details = [reason, server.lastLines()].join('\n')
  throw new Error(`The Restate server did not become ready. ${useYourOwn}\n${details}`)
}
