import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import pg from 'pg'

import {
  endingWithUs,
  plainEnvironment,
  startForeign,
  stopLeftover,
  type Environment,
} from './foreign-process.ts'
import { makePrivateDirectory, preparePlace, useYourOwn, type PostgresPlace } from './postgres-place.ts'
import { supervise, type Supervised } from './supervise.ts'

const user = 'kinora'
const database = 'kinora'
const readyWithinMs = 60_000
const stopGraceMs = 10_000
const databaseMissing = '3D000'
const passwordWrong = '28P01'

/** The only connections that the server accepts; without a password it accepts none. */
const accessRules = `host all ${user} 127.0.0.1/32 scram-sha-256\n`

interface EmbeddedPostgresOptions {
  /** `<data>/postgres`. Its parent must belong to Kinora alone: as root its mode becomes 0711. */
  directory: string
  port: number
  environment: Environment
  logDirectory: string
  log?: (message: string) => void
  onGaveUp?: (reason: string) => void
}

export interface EmbeddedPostgres {
  url: string
  pid(): number | undefined
  stop(): Promise<void>
}

/**
 * Starts the PostgreSQL of the npm package with a database `kinora`, reachable only from this machine and only with the
 * password in `<directory>/password`.
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const { port, logDirectory, log = () => {}, onGaveUp } = options
  const environment = { ...plainEnvironment(options.environment), LC_ALL: 'C' }
  const directory = resolve(options.directory)
  const place = await preparePlace(directory)
  await stopEarlierRun(place.cluster)
  if (!existsSync(join(place.cluster, 'PG_VERSION'))) await initialise(place, environment)
  const password = await requirePassword(place, join(directory, 'password'), environment)

  const server = supervise({
    name: 'postgres',
    logDirectory,
    log,
    ...(onGaveUp !== undefined && { onGaveUp }),
    start: (output) =>
      startForeign({
        command: join(place.native, 'bin/postgres'),
        arguments: ['-D', place.cluster, ...settings(port).flatMap((setting) => ['-c', setting])],
        environment,
        output,
        // SIGINT is PostgreSQL's fast shutdown: it closes connections and flushes data.
        signalOnOurDeath: 'SIGINT',
        workingDirectory: place.cluster,
        ...(place.owner !== undefined && { owner: place.owner }),
      }),
  })
  try {
    await becomeReady(server, place.cluster, { port, password })
  } catch (error) {
    await server.stop('SIGINT', stopGraceMs)
    throw error
  }
  return {
    url: `postgres://${user}:${password}@127.0.0.1:${port}/${database}`,
    pid: () => server.pid(),
    stop: () => server.stop('SIGINT', stopGraceMs),
  }
}

function settings(port: number): string[] {
  return [
    'listen_addresses=127.0.0.1',
    `port=${port}`,
    'unix_socket_directories=',
    'max_connections=100',
    'shared_buffers=64MB',
    'max_wal_size=256MB',
    'timezone=UTC',
    'log_timezone=UTC',
    // The default would start three I/O worker processes, which are idle here.
    'io_method=sync',
    'max_logical_replication_workers=0',
    // Parallel plans need /dev/shm, which is 64 MB in a container.
    'max_parallel_workers_per_gather=0',
    'jit=off',
    // The remaining settings reduce wake-ups while the database is idle.
    'autovacuum_naptime=5min',
    'bgwriter_delay=10s',
    'checkpoint_timeout=30min',
    'log_checkpoints=off',
    // The log has neither rows nor values. A message names the table and the constraint.
    'log_error_verbosity=terse',
    'log_parameter_max_length=0',
    'log_parameter_max_length_on_error=0',
  ]
}

async function initialise(place: PostgresPlace, environment: Environment): Promise<void> {
  const { cluster, native, owner } = place
  // Created under a temporary name, so that an interrupted first start leaves no partial cluster.
  const unfinished = `${cluster}.unfinished`
  await makePrivateDirectory(unfinished, owner)
  const initdb = [
    join(native, 'bin/initdb'),
    `--pgdata=${unfinished}`,
    `--username=${user}`,
    // Nobody may connect until the server requires a password.
    '--auth=reject',
    '--encoding=UTF8',
    // The built-in locale sorts text the same way on every machine.
    '--locale-provider=builtin',
    '--builtin-locale=C.UTF-8',
    '--locale=C',
    '--no-sync',
    '--no-instructions',
  ] as const
  const command = owner === undefined && isNameless() ? ([...namedUser, ...initdb] as const) : initdb
  const { reason } = await runToEnd(command, place, environment)
  if (reason !== undefined) {
    throw new Error(`Could not create the PostgreSQL cluster in ${cluster}. ${useYourOwn}\n${reason}`)
  }
  await rename(unfinished, cluster)
}

/**
 * Makes the server require a password and returns it. If it is not stored yet, it is set while the server is not running;
 * this also upgrades a cluster that accepted connections without one.
 */
async function requirePassword(
  place: PostgresPlace,
  file: string,
  environment: Environment,
): Promise<string> {
  const { cluster, native } = place
  const rulesFile = join(cluster, 'pg_hba.conf')
  if ((await readFile(rulesFile, 'utf8')) !== accessRules) await writeFile(rulesFile, accessRules)
  if (existsSync(file)) return (await readFile(file, 'utf8')).trim()

  const password = randomBytes(32).toString('hex')
  const singleUser = [join(native, 'bin/postgres'), '--single', '-D', cluster, 'postgres'] as const
  const statement = `ALTER ROLE ${user} PASSWORD '${password}'`
  const { reason, output } = await runToEnd(singleUser, place, environment, `${statement}\n`)
  // The program also succeeds if a statement failed.
  if (reason !== undefined || output.includes('ERROR:')) {
    const details = (reason ?? output).replaceAll(password, '…')
    throw new Error(`Could not set the password of the database in ${cluster}. ${useYourOwn}\n${details}`)
  }
  await writeFile(`${file}.new`, `${password}\n`, { mode: 0o600 })
  await rename(`${file}.new`, file)
  return password
}

/** Runs a program of PostgreSQL with this input. The reason is undefined if it succeeded. */
async function runToEnd(
  command: readonly [string, ...string[]],
  { cluster, owner }: PostgresPlace,
  environment: Environment,
  input = '',
): Promise<{ reason: string | undefined; output: string }> {
  // initdb delays milder signals until it is done. The next start removes its leftovers.
  const [program, ...programArguments] = endingWithUs([...command], 'SIGKILL', environment)
  const child = spawn(program, programArguments, {
    env: { ...environment },
    cwd: dirname(cluster),
    stdio: ['pipe', 'pipe', 'pipe'],
    ...owner,
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  // The exit code tells why the program did not read its input.
  child.stdin.on('error', () => undefined).end(input)
  const reason = await new Promise<string | undefined>((resolve) => {
    child.once('error', (error) => {
      resolve(error.message)
    })
    child.once('close', (code) => {
      resolve(code === 0 ? undefined : output.trim())
    })
  })
  return { reason, output }
}

// initdb requires a user with a name. In containers without one, a user namespace maps to `nobody`.
const namedUser = ['unshare', '--user', '--map-user=65534', '--map-group=65534', '--'] as const

function isNameless(): boolean {
  try {
    userInfo()
    return false
  } catch {
    return true
  }
}

async function stopEarlierRun(cluster: string): Promise<void> {
  const pid = await postmasterOf(cluster)
  if (pid === undefined) return
  const isPostgres = (commandLine: string): boolean => commandLine.includes(`postgres -D ${cluster} `)
  await stopLeftover(pid, isPostgres, 'SIGINT', stopGraceMs)
}

async function postmasterOf(cluster: string): Promise<number | undefined> {
  try {
    const pid = Number.parseInt(await readFile(join(cluster, 'postmaster.pid'), 'utf8'), 10)
    return pid > 1 ? pid : undefined
  } catch {
    return undefined
  }
}

interface Login {
  port: number
  password: string
}

async function becomeReady(server: Supervised, cluster: string, login: Login): Promise<void> {
  const deadline = Date.now() + readyWithinMs
  let reason: unknown = 'The server process keeps exiting.'
  while (Date.now() < deadline && !server.gaveUp()) {
    try {
      // The pid file proves that our server holds the cluster, and not another server on the same port.
      const pid = server.pid()
      if (pid !== undefined && (await postmasterOf(cluster)) === pid) {
        await connectTo(login, database)
        return
      }
    } catch (error) {
      reason = error
      if (error instanceof pg.DatabaseError && error.code === passwordWrong) {
        throw new Error(
          'The stored password of the embedded PostgreSQL is wrong. Delete the file postgres/password in the data directory and start again.',
          { cause: error },
        )
      }
      if (error instanceof pg.DatabaseError && error.code === databaseMissing) {
        await connectTo(login, 'postgres', `CREATE DATABASE ${database}`)
        continue
      }
    }
    await sleep(20)
  }
  const details = [String(reason), server.lastLines()].join('\n')
  throw new Error(`The embedded PostgreSQL did not become ready. ${useYourOwn}\n${details}`)
}

/** Connects and runs the statement, if any. A successful connection proves that recovery has finished. */
async function connectTo(login: Login, databaseName: string, statement?: string): Promise<void> {
  const client = new pg.Client({
    host: '127.0.0.1',
    ...login,
    user,
    database: databaseName,
    ssl: false,
    connectionTimeoutMillis: 2_000,
    query_timeout: 10_000,
  })
  // The server may restart while we are connected; without a listener that would end this process.
  client.on('error', () => {})
  try {
    await client.connect()
    if (statement !== undefined) await client.query(statement)
  } finally {
    await client.end()
  }
}
