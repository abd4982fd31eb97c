import pg from 'pg'

import type { Log } from './log.ts'

// Counts and micros fit a double exactly up to 2^53; dates stay text so that no time zone creeps in.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)
pg.types.setTypeParser(pg.types.builtins.NUMERIC, Number)
pg.types.setTypeParser(pg.types.builtins.DATE, (text) => text)

/** Something SQL can be run on: the pool, or one connection inside a transaction. */
export interface Database {
  query: <Row extends pg.QueryResultRow>(
    text: string,
    values?: unknown[],
  ) => Promise<{ rows: Row[]; rowCount: number | null }>
}

interface TransactionOptions {
  /**
   * False for what need not outlive a crash of the database: others see it at once, and in order, but it is not
   * waited for until it is on disk.
   */
  isDurable?: boolean
  /** How long each of its statements may take, for searches that may find too much to read. */
  patienceMs?: number
}

/** A statement was given up because it took longer than it may. */
export class TookTooLong extends Error {
  override name = 'TookTooLong'
}

/**
 * The connection was lost before the reply to a commit arrived: the transaction may have been committed, or may be yet.
 * Every other error of a transaction means that it was not.
 */
export class CommitOutcomeUnknown extends Error {
  override name = 'CommitOutcomeUnknown'
}

/** The server answered the commit with an error, which rolls the transaction back. FATAL only ends the connection. */
const isRolledBack = (error: unknown) => error instanceof pg.DatabaseError && error.severity === 'ERROR'

const isGivenUp = (error: unknown) => (error as { code?: unknown }).code === '57014'

export interface Postgres extends Database {
  /** Throws `CommitOutcomeUnknown` where it cannot know whether it was committed. */
  transaction: <Result>(
    work: (database: Database) => Promise<Result>,
    options?: TransactionOptions,
  ) => Promise<Result>
  /** Calls `onNews` for each notification, and once after every reconnect, when news may have been missed. */
  listen: (
    channel: string,
    onNotification: (payload: string | undefined) => void,
  ) => Promise<{ stop: () => Promise<void> }>
  notify: (channel: string, payload: string) => Promise<void>
  /** Holds a lock for as long as this process lives; false when another process holds it. */
  holdLock: (name: string) => Promise<boolean>
  close: () => Promise<void>
}

const statementNames = new Map<string, string>()

/** A statement with values is planned once per connection, and known by its text from then on. */
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
  // An idle connection that the server closes is replaced on next use; without a listener it would end the process.
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

  const transaction: Postgres['transaction'] = async (work, { isDurable = true, patienceMs } = {}) => {
    const client = await pool.connect()
    let isCommitting = false
    let broken: Error | undefined
    // Its queries fail by themselves when it is lost; without a listener that would end the process too.
    const onLost = (error: Error) => {
      broken = error
    }
    client.on('error', onLost)
    try {
      const mode = isDurable ? '' : '; set local synchronous_commit to off'
      const patience =
        patienceMs === undefined ? '' : `; set local statement_timeout to ${Math.ceil(patienceMs)}`
      await client.query(`begin${mode}${patience}`)
      const result = await work(databaseOn(client))
      isCommitting = true
      await client.query('commit')
      return result
    } catch (error) {
      await client.query('rollback').catch((rollbackError: Error) => {
        broken = rollbackError
      })
      if (patienceMs !== undefined && isGivenUp(error)) {
        throw new TookTooLong(`a statement took longer than ${patienceMs} ms`, { cause: error })
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

  // Everyone in this process who listens shares one connection.
  const listeners = new Map<string, Set<(payload: string | undefined) => void>>()
  let listening: Promise<pg.Client> | undefined

  const hearOn = (client: pg.Client, channel: string) =>
    client.query(`listen ${pg.escapeIdentifier(channel)}`)

  const attach = async (): Promise<pg.Client> => {
    const client = await dedicatedClient()
    client.on('notification', ({ channel, payload }) => {
      for (const onNotification of listeners.get(channel) ?? []) onNotification(payload)
    })
    for (const channel of listeners.keys()) await hearOn(client, channel)
    client.on('end', () => {
      listening = listeners.size === 0 ? undefined : reattach()
      // Whoever listens next sees that it failed; until then it is nobody's.
      listening?.catch(() => undefined)
    })
    return client
  }

  const reattach = async (): Promise<pg.Client> => {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, 500))
      if (listeners.size === 0) throw new Error('nobody listens any more')
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
      await hearOn(await listening, channel)
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
