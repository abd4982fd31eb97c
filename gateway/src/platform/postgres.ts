import pg from 'pg'

import { hostUrlsOf } from './hosts/database-url.ts'
import { findPrimaryOf, type PrimaryFinder } from './hosts/primary-finder.ts'
import type { Log } from './log.ts'
import { observePool } from './metrics/pool-metrics.ts'
import {
  CommitOutcomeUnknown,
  isDatabaseUnavailable,
  isOutOfResources,
  isStatementCancelled,
  StatementTimeout,
} from './postgres-errors.ts'
import { describeService, unusable } from './service-address.ts'
import { createStallDetector } from './stall-detector.ts'

// A double is exact up to 2^53, which is enough for counts and micros. Dates stay text to avoid time zones.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)
pg.types.setTypeParser(pg.types.builtins.NUMERIC, Number)
pg.types.setTypeParser(pg.types.builtins.DATE, (text) => text)

/** Runs SQL: the pool, or one connection inside a transaction. */
export interface Database {
  query: <Row extends pg.QueryResultRow>(
    text: string,
    values?: unknown[],
  ) => Promise<{ rows: Row[]; rowCount: number | null }>
  /** Calls back once the transaction is certainly committed. Absent outside of one, where each statement commits at once. */
  afterCommit?: (work: () => void) => void
}

export interface PostgresSettings {
  /** It may name several hosts, of which one is the primary. */
  url: string
  /**
   * Leads to the server itself, for what needs a session: notifications and locks. With it, `url` may lead to a pooler, which
   * refuses timeouts at the start of a connection: the role of the database has them.
   */
  directUrl?: string | undefined
  /** Also without the limits that the role has. */
  isUnlimited?: boolean
  connectionsMax: number
  /** How PostgreSQL names the connections of this process, for example in pg_stat_activity. */
  connectionName?: string
  /** How long to wait for a connection, an idle or a new one. Here and below, 0 is for no limit. */
  connectTimeoutMs?: number
  /** How long a statement may wait for a lock. */
  lockTimeoutMs?: number
  /** How long a statement may take. The server cancels it; a server that does not respond is given up shortly after. */
  statementTimeoutMs?: number
}

interface TransactionOptions {
  /**
   * False if the data may be lost in a crash of the database. Others see it at once and in order, but the commit does
   * not wait for the disk.
   */
  isDurable?: boolean
  /** Replaces the limits of the settings. */
  statementTimeoutMs?: number
  lockTimeoutMs?: number
  /** Lowers the limit of the settings, if they have one. */
  lockTimeoutMsMax?: number
}

/** How long the response of the server may take after its own timeout: first it shall report that itself. */
const responseMs = 1_000

/** The server answered the commit with an error, which rolls back. FATAL only ends the connection. */
const isRolledBack = (error: unknown) => error instanceof pg.DatabaseError && error.severity === 'ERROR'

export interface HeldLock {
  release: () => Promise<void>
}

export interface Postgres extends Database {
  /** Throws `CommitOutcomeUnknown` if it cannot know whether the transaction was committed. */
  transaction: <Result>(
    work: (database: Database) => Promise<Result>,
    options?: TransactionOptions,
  ) => Promise<Result>
  /** Calls back for each notification, and without a payload after a reconnect, which may have missed some. */
  listen: (
    channel: string,
    onNotification: (payload: string | undefined) => void,
  ) => Promise<{ stop: () => Promise<void> }>
  notify: (channel: string, payload: string) => Promise<void>
  /** Holds a lock until it is released or this process ends; undefined if another process holds it. */
  holdLock: (name: string) => Promise<HeldLock | undefined>
  /** The limit of the settings or, if that is longer, the given one; for a single statement that sets it itself. */
  lockTimeoutMsAtMost: (max: number) => number
  /** How many queries and transactions wait for a free connection. */
  waiting: () => number
  close: () => Promise<void>
}

const statementNames = new Map<string, string>()

/** A statement with values is prepared once per connection, under a name derived from its text. */
const prepared = (text: string, values: unknown[] | undefined) => {
  if (values === undefined) return { text }
  let name = statementNames.get(text)
  if (name === undefined) {
    name = `kinora_${statementNames.size}`
    statementNames.set(text, name)
  }
  return { name, text, values }
}

const keepAliveMs = 10_000
/**
 * A new connection has to plan every statement again, so it is kept between bursts and between the timers of an idle process.
 * Network devices silently drop idle connections after 350 s or more.
 */
const idleMsMax = 300_000
const probeTimeoutMs = 2_000
const closeTimeoutMs = 2_000

/** Closes a connection; a server that does not respond is not waited for. */
const closeClient = async (client: pg.Client): Promise<void> => {
  const timer = setTimeout(() => client.connection.stream.destroy(), closeTimeoutMs)
  await client.end().catch(() => undefined)
  clearTimeout(timer)
}

const limitStatement = (name: string, limitMs: number | undefined) =>
  limitMs === undefined ? [] : [`set local ${name} to ${Math.ceil(limitMs)}`]

/** The driver gives up a statement after this time, which also works if the server is stopped; undefined for never. */
const queryTimeoutOf = (statementTimeoutMs: number) =>
  statementTimeoutMs === 0 ? {} : { query_timeout: statementTimeoutMs + responseMs }

const databaseOn = (connection: pg.Pool | pg.PoolClient, statementTimeoutMs: number): Database => ({
  query: (text, values) =>
    connection.query({ ...prepared(text, values), ...queryTimeoutOf(statementTimeoutMs) }),
})

/** A class of clients, because the pool decides when it connects. The pool does not report a client that still connects. */
const clientsOf = (primary: PrimaryFinder, onCreate: (client: pg.ClientBase) => void) =>
  class extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      super({ ...config, connectionString: primary.current() })
      onCreate(this)
    }
  }

export const connectPostgres = (settings: PostgresSettings, log: Log): Postgres => {
  const {
    connectionName = 'kinora',
    connectTimeoutMs = 5_000,
    lockTimeoutMs = 0,
    statementTimeoutMs = 0,
  } = settings
  const open = new Set<pg.ClientBase>()
  /** Closes the connections to a host that is no longer the primary. Their queries fail. */
  const onMove = () => {
    for (const client of open) (client as pg.Client).connection.stream.destroy()
  }
  const warnOfMove = (fields: object, event: 'postgres.primary-changed') => log.warn(fields, event)
  const primary = findPrimaryOf(settings.url, warnOfMove, onMove)
  const direct =
    settings.directUrl === undefined ? primary : findPrimaryOf(settings.directUrl, warnOfMove, onMove)

  const watchClient = (client: pg.ClientBase) => {
    open.add(client)
    // The server may end a connection at any time, also between two queries of a transaction. Its queries fail by
    // themselves and the pool replaces it; without a listener, for its whole life, the error would end the process.
    client.on('error', (error) => {
      primary.doubt()
      direct.doubt()
      log.warn({ err: error }, 'postgres.connection-lost')
    })
    client.on('end', () => open.delete(client))
  }

  const pool = new pg.Pool({
    Client: clientsOf(primary, watchClient),
    max: settings.connectionsMax,
    connectionTimeoutMillis: connectTimeoutMs,
    idleTimeoutMillis: idleMsMax,
    ...(settings.directUrl === undefined && {
      lock_timeout: lockTimeoutMs,
      statement_timeout: statementTimeoutMs,
    }),
    ...(settings.isUnlimited === true && { options: '-c statement_timeout=0 -c lock_timeout=0' }),
    application_name: connectionName,
  })
  const stopObserving = observePool(pool)
  // The pool repeats the error of an idle connection.
  pool.on('error', () => undefined)
  const dedicated = new Set<pg.Client>()

  const connectClient = async (options: pg.ClientConfig, finder = direct) => {
    await finder.settle()
    const client = new pg.Client({
      connectionString: finder.current(),
      connectionTimeoutMillis: connectTimeoutMs,
      ...options,
    })
    watchClient(client)
    await client.connect()
    return client
  }

  const dedicatedClient = async () => {
    const client = await connectClient({
      application_name: `${connectionName}, listening`,
      keepAlive: true,
      keepAliveInitialDelayMillis: keepAliveMs,
      ...queryTimeoutOf(statementTimeoutMs),
    })
    dedicated.add(client)
    client.on('end', () => dedicated.delete(client))
    return client
  }

  const stallDetector = createStallDetector(async () => {
    const limit = { connectionTimeoutMillis: probeTimeoutMs, query_timeout: probeTimeoutMs }
    // It takes the way of the queries, which may lead through a pooler.
    const client = await connectClient({ application_name: 'kinora-probe', ...limit }, primary)
    try {
      await client.query('select 1')
    } finally {
      await closeClient(client)
    }
  }, log)

  /** Fails at once while the database does not respond, and notes when it has stopped to. */
  const watched = async <Result>(work: () => Promise<Result>): Promise<Result> => {
    stallDetector.assertResponding()
    try {
      if (primary.isDoubtful()) await primary.settle()
      return await work()
    } catch (error) {
      // A full server is still the primary, and the search would need a new connection while those of the pool work.
      const mayHaveMoved = isDatabaseUnavailable(error) && !isOutOfResources(error)
      if (error instanceof CommitOutcomeUnknown || mayHaveMoved) primary.doubt()
      stallDetector.observe(error)
      throw error
    }
  }

  const { query } = databaseOn(pool, statementTimeoutMs)
  const lockTimeoutOf = (options: TransactionOptions) =>
    lockTimeoutMs > (options.lockTimeoutMsMax ?? Infinity) ? options.lockTimeoutMsMax : options.lockTimeoutMs

  const runTransaction: Postgres['transaction'] = async (work, options = {}) => {
    const { isDurable = true } = options
    const client = await pool.connect()
    let isCommitting = false
    let broken: Error | undefined
    try {
      const statements = [
        'begin',
        ...(isDurable ? [] : ['set local synchronous_commit to off']),
        ...limitStatement('statement_timeout', options.statementTimeoutMs),
        ...limitStatement('lock_timeout', lockTimeoutOf(options)),
      ]
      const afterCommit: (() => void)[] = []
      const database: Database = {
        ...databaseOn(client, options.statementTimeoutMs ?? statementTimeoutMs),
        afterCommit: (callback) => afterCommit.push(callback),
      }
      await database.query(statements.join('; '))
      const result = await work(database)
      isCommitting = true
      await database.query('commit')
      for (const callback of afterCommit) callback()
      return result
    } catch (error) {
      // A connection that does not respond is closed, which rolls back; it would not answer a rollback either.
      if (isDatabaseUnavailable(error)) broken = error as Error
      else {
        await client
          .query({ text: 'rollback', ...queryTimeoutOf(statementTimeoutMs) })
          .catch((rollbackError: Error) => {
            broken = rollbackError
          })
      }
      if (options.statementTimeoutMs !== undefined && isStatementCancelled(error)) {
        throw new StatementTimeout(`a statement took longer than ${options.statementTimeoutMs} ms`, {
          cause: error,
        })
      }
      if (isCommitting && !isRolledBack(error)) {
        throw new CommitOutcomeUnknown('the connection was lost during a commit', { cause: error })
      }
      throw error
    } finally {
      client.release(broken)
    }
  }

  // All listeners of this process share one connection.
  const listeners = new Map<string, Set<(payload: string | undefined) => void>>()
  let listening: Promise<pg.Client> | undefined

  const listenOn = (client: pg.Client, channel: string) =>
    client.query(`listen ${pg.escapeIdentifier(channel)}`)

  const attach = async (): Promise<pg.Client> => {
    const client = await dedicatedClient()
    client.on('notification', ({ channel, payload }) => {
      for (const onNotification of listeners.get(channel) ?? []) onNotification(payload)
    })
    try {
      for (const channel of listeners.keys()) await listenOn(client, channel)
    } catch (error) {
      await closeClient(client)
      throw error
    }
    client.on('end', () => {
      listening = listeners.size === 0 ? undefined : reattach()
      // The next call of `listen` sees the failure; until then the rejection has no handler.
      listening?.catch(() => undefined)
    })
    return client
  }

  const reattach = async (): Promise<pg.Client> => {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, 500))
      if (listeners.size === 0) throw new Error('there are no listeners left')
      try {
        const client = await attach()
        for (const onNotification of [...listeners.values()].flatMap((each) => [...each]))
          onNotification(undefined)
        return client
      } catch (error) {
        if (!isOutOfResources(error)) direct.doubt()
        log.warn({ err: error }, 'postgres.listen-failed')
      }
    }
  }

  const listen: Postgres['listen'] = async (channel, onNotification) => {
    const ofChannel = listeners.get(channel) ?? new Set()
    listeners.set(channel, ofChannel.add(onNotification))
    const stop = async () => {
      ofChannel.delete(onNotification)
      if (ofChannel.size === 0) listeners.delete(channel)
      if (listeners.size > 0) return
      const last = await listening?.catch(() => undefined)
      listening = undefined
      if (last !== undefined) await closeClient(last)
    }
    try {
      listening ??= attach()
      await listenOn(await listening, channel)
    } catch (error) {
      listening = undefined
      await stop()
      throw error
    }
    return { stop }
  }

  return {
    query: (text, values) => watched(() => query(text, values)),
    transaction: (work, options) => watched(() => runTransaction(work, options)),
    listen,
    notify: async (channel, payload) => {
      await watched(() => query('select pg_notify($1, $2)', [channel, payload]))
    },
    holdLock: async (name) => {
      const client = await dedicatedClient()
      let isHeld = false
      try {
        const { rows } = await client.query<{ held: boolean }>(
          'select pg_try_advisory_lock(hashtextextended($1, 0)) as held',
          [name],
        )
        isHeld = rows[0]?.held === true
      } finally {
        if (!isHeld) await closeClient(client)
      }
      return isHeld ? { release: () => closeClient(client) } : undefined
    },
    lockTimeoutMsAtMost: (max) => Math.min(lockTimeoutMs, max),
    waiting: () => pool.waitingCount,
    close: async () => {
      stallDetector.stop()
      stopObserving()
      primary.stop()
      direct.stop()
      listeners.clear()
      await Promise.all([...dedicated].map(closeClient))
      await pool.end()
    },
  }
}

/** Throws an error that names the service and its setting unless the database accepts a connection and a query. */
export const assertUsable = async (postgres: Database, url: string): Promise<void> => {
  try {
    await postgres.query('select 1')
  } catch (error) {
    throw unusable(describeService('PostgreSQL', 'DATABASE_URL', ...hostUrlsOf(url)), error)
  }
}
