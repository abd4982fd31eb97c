import pg from 'pg'

import type { Log } from './log.ts'

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
}

interface TransactionOptions {
  /**
   * False if the data may be lost in a crash of the database. Others see it at once and in order, but the commit does
   * not wait for the disk.
   */
  isDurable?: boolean
  /** How long each statement may take, for searches that may read too much. */
  statementTimeoutMs?: number
}

/** A statement exceeded its timeout. */
export class StatementTimeout extends Error {
  override name = 'StatementTimeout'
}

/**
 * The connection was lost before the response to a commit arrived, so the transaction may have been committed or may
 * still be. Every other error of a transaction means that it was not committed.
 */
export class CommitOutcomeUnknown extends Error {
  override name = 'CommitOutcomeUnknown'
}

/** The server answered the commit with an error, which rolls back. FATAL only ends the connection. */
const isRolledBack = (error: unknown) => error instanceof pg.DatabaseError && error.severity === 'ERROR'

const isStatementTimeout = (error: unknown) => (error as { code?: unknown }).code === '57014'

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
  /** Holds a lock until this process ends; false if another process holds it. */
  holdLock: (name: string) => Promise<boolean>
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

const databaseOn = (connection: pg.Pool | pg.PoolClient): Database => ({
  query: (text, values) => connection.query(prepared(text, values)),
})

export const connectPostgres = (settings: { url: string; connectionsMax: number }, log: Log): Postgres => {
  const pool = new pg.Pool({
    connectionString: settings.url,
    max: settings.connectionsMax,
    connectionTimeoutMillis: 5_000,
    application_name: 'kinora',
  })
  // The pool replaces an idle connection that the server closes; without a listener the error would end the process.
  pool.on('error', (error) => log.warn({ err: error }, 'postgres.connection-lost'))
  const dedicated = new Set<pg.Client>()

  const dedicatedClient = async () => {
    const client = new pg.Client({
      connectionString: settings.url,
      application_name: 'kinora-listen',
      keepAlive: true,
    })
    client.on('error', (error) => log.warn({ err: error }, 'postgres.connection-lost'))
    await client.connect()
    dedicated.add(client)
    client.on('end', () => dedicated.delete(client))
    return client
  }

  const transaction: Postgres['transaction'] = async (
    work,
    { isDurable = true, statementTimeoutMs } = {},
  ) => {
    const client = await pool.connect()
    let isCommitting = false
    let broken: Error | undefined
    // Queries on a lost connection fail by themselves; without a listener the error would end the process.
    const onLost = (error: Error) => {
      broken = error
    }
    client.on('error', onLost)
    try {
      const mode = isDurable ? '' : '; set local synchronous_commit to off'
      const timeout =
        statementTimeoutMs === undefined
          ? ''
          : `; set local statement_timeout to ${Math.ceil(statementTimeoutMs)}`
      await client.query(`begin${mode}${timeout}`)
      const result = await work(databaseOn(client))
      isCommitting = true
      await client.query('commit')
      return result
    } catch (error) {
      await client.query('rollback').catch((rollbackError: Error) => {
        broken = rollbackError
      })
      if (statementTimeoutMs !== undefined && isStatementTimeout(error)) {
        throw new StatementTimeout(`a statement took longer than ${statementTimeoutMs} ms`, { cause: error })
      }
      if (isCommitting && !isRolledBack(error)) {
        throw new CommitOutcomeUnknown('the connection was lost during a commit', { cause: error })
      }
      throw error
    } finally {
      client.off('error', onLost)
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
    for (const channel of listeners.keys()) await listenOn(client, channel)
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
      await last?.end().catch(() => undefined)
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
    ...databaseOn(pool),
    transaction,
    listen,
    notify: async (channel, payload) => {
      await pool.query('select pg_notify($1, $2)', [channel, payload])
    },
    holdLock: async (name) => {
      const client = await dedicatedClient()
      const { rows } = await client.query<{ held: boolean }>(
        'select pg_try_advisory_lock(hashtextextended($1, 0)) as held',
        [name],
      )
      if (rows[0]?.held === true) return true
      await client.end()
      return false
    },
    close: async () => {
      listeners.clear()
      await Promise.all([...dedicated].map((client) => client.end().catch(() => undefined)))
      await pool.end()
    },
  }
}
