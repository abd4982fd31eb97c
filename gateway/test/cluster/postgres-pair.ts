/** A PostgreSQL server and its synchronous standby, which can be promoted. The replaced server can come back as the standby. */
import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

import pg from 'pg'

import { plainEnvironment } from '../../../cli/src/dev/foreign-process.ts'
import { createPart, until, type Part } from '../faults/part.ts'
import { findInstalled, ownName } from '../faults/postgres-cluster.ts'
import { withChildren } from './kill-children.ts'
import { lineAs, lineAt, type Line, type Place } from './machine-line.ts'

export interface PostgresPair {
  /** Names both hosts. */
  url: string
  servers: readonly [Part, Part]
  /** The index of the server that accepts writes. */
  primary: () => 0 | 1
  /** Runs a query on the primary. */
  query: <Row extends pg.QueryResultRow>(text: string, values?: unknown[]) => Promise<Row[]>
  /** Kills the primary, promotes the standby, and returns once it accepts writes. */
  promote: () => Promise<void>
  /** Promotes the standby although the primary goes on, and counts it as the primary. */
  separate: () => Promise<void>
  /** Makes the server that was replaced the synchronous standby of the other. */
  rejoin: () => Promise<void>
  stop: () => Promise<void>
}

interface Server extends Place {
  port: number
}

const run = promisify(execFile)
const user = 'kinora'
const names = ['kinora_a', 'kinora_b'] as const
// Of Debian's package.
const unprivileged = { uid: 65_534, gid: 65_534 }

const settingsOf = ({ address, port }: Server) => `
listen_addresses = '${address}'
port = ${port}
unix_socket_directories = ''
max_connections = 200
shared_buffers = 64MB
wal_level = replica
max_wal_senders = 5
max_replication_slots = 5
hot_standby = on
wal_log_hints = on
wal_receiver_timeout = 5s
wal_sender_timeout = 5s
`

export const startPostgresPair = async (
  directory: string,
  [first, second]: readonly [Server, Server],
  logDirectory: string,
): Promise<PostgresPair> => {
  const installed = await findInstalled()
  const owner = process.getuid?.() === 0 ? unprivileged : undefined
  const environment = { ...plainEnvironment(process.env), LC_ALL: 'C' }
  const home = join(directory, 'pair')
  await mkdir(home)
  // The user that runs the servers has to reach it.
  await chmod(directory, 0o711)
  if (owner !== undefined) await chown(home, owner.uid, owner.gid)
  const servers = [first, second] as const
  const dataOf = (index: 0 | 1) => join(home, index === 0 ? 'a' : 'b')
  const program = (name: string, ...words: string[]): Line => [join(installed, 'bin', name), ...words]
  const execute = async (place: Place, line: Line) => {
    const [command, ...rest] = lineAt(place, lineAs(owner, line))
    return run(command, rest, { env: environment, cwd: home })
  }
  const authorityOf = ({ address, port }: Server) => `${address}:${port}`
  let primary: 0 | 1 = 0

  const queryAt = async <Row extends pg.QueryResultRow>(
    index: 0 | 1,
    database: string,
    text: string,
    values?: unknown[],
  ) => {
    const client = new pg.Client({
      connectionString: `postgres://${user}@${authorityOf(servers[index])}/${database}`,
      application_name: ownName,
      connectionTimeoutMillis: 5_000,
      query_timeout: 30_000,
    })
    client.on('error', () => undefined)
    await client.connect()
    try {
      return (await client.query<Row>(text, values)).rows
    } finally {
      await client.end()
    }
  }

  await execute(first, [
    ...program('initdb', `--pgdata=${dataOf(0)}`, `--username=${user}`, '--auth=trust', '--encoding=UTF8'),
    ...['--no-locale', '--no-sync', '--data-checksums'],
  ])
  await writeFile(join(dataOf(0), 'pg_hba.conf'), 'host all all all trust\nhost replication all all trust\n')
  const createServer = (index: 0 | 1) => {
    const [command, ...rest] = lineAt(servers[index], lineAs(owner, program('postgres', '-D', dataOf(index))))
    return withChildren(
      createPart({
        name: `postgres-${index}`,
        line: [command, ...rest],
        environment,
        logDirectory,
        workingDirectory: home,
        untilReady: () =>
          until('PostgreSQL accepts connections', async () => {
            await queryAt(index, 'postgres', 'select 1')
            return true
          }),
      }),
    )
  }
  const parts = [createServer(0), createServer(1)] as const

  /** The names of the servers, as the other one knows them. */
  const followOther = async (index: 0 | 1) => {
    const { address, port } = servers[index === 0 ? 1 : 0]
    await writeFile(
      join(dataOf(index), 'postgresql.auto.conf'),
      `primary_conninfo = 'host=${address} port=${port} user=${user} application_name=${names[index]} keepalives_idle=5 keepalives_interval=1 keepalives_count=3'\n` +
        `primary_slot_name = '${names[index]}'\n`,
    )
  }
  const configure = (index: 0 | 1) =>
    writeFile(join(dataOf(index), 'postgresql.conf'), settingsOf(servers[index]))
  /** From here on, a commit waits for the standby. */
  const synchronize = async (index: 0 | 1) => {
    const standby = names[index === 0 ? 1 : 0]
    await until('the standby streams', async () => {
      const rows = await queryAt(
        index,
        'postgres',
        `select from pg_stat_replication where application_name = $1 and state = 'streaming'`,
        [standby],
      )
      return rows.length === 1
    })
    await queryAt(index, 'postgres', `alter system set synchronous_standby_names = '${standby}'`)
    await queryAt(index, 'postgres', 'select pg_reload_conf()')
    await until('the standby is synchronous', async () => {
      const rows = await queryAt(
        index,
        'postgres',
        `select from pg_stat_replication where application_name = $1 and sync_state = 'sync'`,
        [standby],
      )
      return rows.length === 1
    })
  }

  await configure(0)
  await parts[0].start()
  await queryAt(0, 'postgres', 'create database kinora')
  await execute(second, [
    ...program('pg_basebackup', '-h', first.address, '-p', String(first.port), '-U', user),
    ...['-D', dataOf(1), '-X', 'stream', '-C', '-S', names[1], '-c', 'fast', '--no-sync'],
  ])
  await followOther(1)
  await writeFile(join(dataOf(1), 'standby.signal'), '')
  await configure(1)
  await parts[1].start()
  await synchronize(0)

  const promoteOther = async () => {
    primary = primary === 0 ? 1 : 0
    await queryAt(primary, 'postgres', 'select pg_promote()')
    await until('the standby accepts writes', async () => {
      const [row] = await queryAt<{ recovers: boolean }>(
        primary,
        'postgres',
        'select pg_is_in_recovery() as recovers',
      )
      return row?.recovers === false
    })
  }

  return {
    url: `postgres://${user}@${authorityOf(first)},${authorityOf(second)}/kinora`,
    servers: parts,
    primary: () => primary,
    query: (text, values) => queryAt(primary, 'kinora', text, values),
    promote: async () => {
      await parts[primary].kill()
      await promoteOther()
    },
    separate: async () => {
      // The replaced primary would wait for its standby.
      await queryAt(primary, 'postgres', 'alter system reset synchronous_standby_names')
      await queryAt(primary, 'postgres', 'select pg_reload_conf()')
      await promoteOther()
    },
    rejoin: async () => {
      const replaced = primary === 0 ? 1 : 0
      const { address, port } = servers[primary]
      // pg_rewind sees the new timeline only after a checkpoint.
      await queryAt(primary, 'postgres', 'checkpoint')
      await queryAt(
        primary,
        'postgres',
        `select pg_create_physical_replication_slot('${names[replaced]}')
          where not exists (select from pg_replication_slots where slot_name = '${names[replaced]}')`,
      )
      await execute(servers[replaced], [
        ...program('pg_rewind', `--target-pgdata=${dataOf(replaced)}`, '--no-sync'),
        `--source-server=host=${address} port=${port} user=${user} dbname=postgres`,
      ])
      await followOther(replaced)
      await configure(replaced)
      await writeFile(join(dataOf(replaced), 'standby.signal'), '')
      await parts[replaced].start()
      await synchronize(primary)
    },
    stop: async () => {
      await Promise.all(parts.map((part) => part.kill('SIGQUIT')))
    },
  }
}
