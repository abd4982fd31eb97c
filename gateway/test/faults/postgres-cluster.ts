/** A PostgreSQL cluster of its own, so that a fault in it affects no other test. */
import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'

import pg from 'pg'

import { plainEnvironment } from '../../../cli/src/dev/foreign-process.ts'
import { makePrivateDirectory, preparePlace } from '../../../cli/src/dev/postgres-place.ts'
import { createPart, until, type Part } from './part.ts'

export interface PostgresCluster extends Part {
  url: string
  /** The processes of the server except the first. */
  children: () => Promise<number[]>
  /** Opens a connection that counts as the test's own. */
  connect: (options?: { queryTimeoutMs?: number }) => Promise<pg.Client>
  /** Shuts it down, does something with its data, and starts it again. */
  whileStopped: (work: (dataDirectory: string) => Promise<void>) => Promise<void>
  /** Runs a query on a connection of its own. */
  query: <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) => Promise<Row[]>
}

const connectionsMax = 64
/** Marks the connections of the test, which faults leave alone. */
export const ownName = 'faults'

const user = 'kinora'
const run = promisify(execFile)

const settings = (port: number) => [
  'listen_addresses=127.0.0.1',
  `port=${port}`,
  'unix_socket_directories=',
  `max_connections=${connectionsMax}`,
  'shared_buffers=64MB',
  'fsync=on',
  'autovacuum=on',
  // Often enough that it runs during a fault.
  'autovacuum_naptime=5s',
  'log_lock_waits=on',
]

/** The newest version that Debian has installed. Unlike the npm package, it includes pg_dump. */
export const findInstalled = async (): Promise<string> => {
  const versions = await readdir('/usr/lib/postgresql')
  return `/usr/lib/postgresql/${Math.max(...versions.map(Number))}`
}

export const createPostgresCluster = async (
  directory: string,
  port: number,
  logDirectory: string,
  moreSettings: string[] = [],
  /** Where another version is than that of the npm package. */
  installed?: string,
): Promise<PostgresCluster> => {
  const { cluster, native: packaged, owner } = await preparePlace(join(directory, 'postgres'))
  const native = installed ?? packaged
  const environment = { ...plainEnvironment(process.env), LC_ALL: 'C' }
  await makePrivateDirectory(cluster, owner)
  await run(
    join(native, 'bin/initdb'),
    [
      `--pgdata=${cluster}`,
      `--username=${user}`,
      '--auth=trust',
      '--encoding=UTF8',
      '--no-locale',
      '--no-sync',
    ],
    { env: environment, cwd: dirname(cluster), ...owner },
  )
  const urlOf = (database: string) => `postgres://${user}@127.0.0.1:${port}/${database}`

  const connectTo = async (database: string, { queryTimeoutMs = 30_000 } = {}) => {
    const client = new pg.Client({
      connectionString: urlOf(database),
      application_name: ownName,
      connectionTimeoutMillis: 5_000,
      query_timeout: queryTimeoutMs,
    })
    client.on('error', () => undefined)
    await client.connect()
    return client
  }
  const queryIn = async <Row extends pg.QueryResultRow>(
    database: string,
    text: string,
    values?: unknown[],
  ) => {
    const client = await connectTo(database)
    try {
      return (await client.query<Row>(text, values)).rows
    } finally {
      await client.end()
    }
  }

  // Of version 18, as that of the package is.
  const own = installed === undefined ? ['io_method=sync'] : []
  const part = createPart({
    name: 'postgres',
    line: [
      join(native, 'bin/postgres'),
      ...[
        '-D',
        cluster,
        ...[...settings(port), ...own, ...moreSettings].flatMap((setting) => ['-c', setting]),
      ],
    ],
    environment,
    logDirectory,
    workingDirectory: cluster,
    owner,
    untilReady: () =>
      until('PostgreSQL accepts connections', async () => {
        await queryIn('postgres', 'select 1')
        return true
      }),
  })
  await part.start()
  await queryIn('postgres', 'create database kinora')

  const children = async () => {
    const pid = part.pid()
    return (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8'))
      .split(' ')
      .filter(Boolean)
      .map(Number)
  }
  return {
    ...part,
    url: urlOf('kinora'),
    children,
    connect: (options) => connectTo('kinora', options),
    query: (text, values) => queryIn('kinora', text, values),
    whileStopped: async (work) => {
      // A fast shutdown.
      await part.kill('SIGINT')
      await work(cluster)
      await part.start()
    },
    kill: async (signal = 'SIGKILL') => {
      const backends = signal === 'SIGKILL' ? await children() : []
      await part.kill(signal)
      for (const backend of backends) {
        try {
          process.kill(backend, 'SIGKILL')
        } catch {
          // It has ended with its parent.
        }
      }
    },
  }
}
