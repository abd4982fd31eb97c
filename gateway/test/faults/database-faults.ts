/** Faults of PostgreSQL and of the connections to it, and of commands to Redis. */
import { setTimeout as sleep } from 'node:timers/promises'

import type pg from 'pg'

import type { FaultStack } from './fault-stack.ts'
import { until } from './part.ts'
import { ownName } from './postgres-cluster.ts'
import type { Fault } from './run-fault.ts'

const isTheirs = `application_name <> '${ownName}' and backend_type = 'client backend'`
const createsAtOnce = 30
const roundsPerBurst = 4
const rounds = 20
const roundMs = 60
const fullMs = 10_000
const lockedMs = 24_000
const frozenMs = 10_000
const clientPauseMs = 10_000

const signalAll = (pids: number[], signal: NodeJS.Signals) => {
  for (const pid of pids) {
    try {
      process.kill(pid, signal)
    } catch {
      // The backend has ended.
    }
  }
}

/** Stops a backend of the gateway in a transaction that has locked a balance; returns its process id. */
const stopLockHolder = async (admin: pg.Client): Promise<number> => {
  const holders = async () => {
    const { rows } = await admin.query<{ pid: number }>(
      `select pid from pg_locks join pg_stat_activity using (pid)
        where locktype = 'transactionid' and mode = 'ExclusiveLock' and granted and ${isTheirs}
          and exists (select from pg_locks held where held.pid = pg_locks.pid and held.relation = 'balances'::regclass
                         and held.mode = 'RowExclusiveLock' and held.granted)`,
    )
    return rows.map(({ pid }) => pid)
  }
  let stopped: number | undefined
  await until(
    'a backend that holds locks is stopped',
    async () => {
      const [pid] = await holders()
      if (pid === undefined) return false
      process.kill(pid, 'SIGSTOP')
      if ((await holders()).includes(pid)) stopped = pid
      else process.kill(pid, 'SIGCONT')
      return stopped !== undefined
    },
    { everyMs: 1 },
  )
  if (stopped === undefined) throw new Error('no backend is stopped')
  return stopped
}

/** Takes every connection that is or becomes free, while some of the gateway's are closed, as a pooler does. */
const takeConnections = async ({ postgres }: FaultStack, forMs: number) => {
  const taken: pg.Client[] = []
  const endMs = performance.now() + forMs
  try {
    while (performance.now() < endMs) {
      try {
        taken.push(await postgres.connect())
      } catch {
        const closing = taken[0]?.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where ${isTheirs} order by random() limit 2`,
        )
        await closing?.catch(() => undefined)
        await sleep(100)
      }
    }
  } finally {
    await Promise.all(taken.map((client) => client.end()))
  }
}

export const databaseFaults = {
  'terminate connections': {
    stopsCreates: true,
    run: async ({ stack, client }) => {
      for (let round = 0; round < rounds; round += 1) {
        // Requests have to wait for a connection, because that is when one is handed over without being idle.
        if (round % roundsPerBurst === 0) client.burst(createsAtOnce, 'repeatable')
        await stack.postgres.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${isTheirs}`)
        await sleep(roundMs)
      }
    },
  },
  'restart postgres': {
    stopsCreates: true,
    run: async ({ stack: { postgres } }) => {
      // A fast shutdown, as for an update: it ends every connection with an error.
      await postgres.kill('SIGINT')
      await postgres.start()
    },
  },
  'connection limit': { stopsCreates: true, run: ({ stack }) => takeConnections(stack, fullMs) },
  'stopped lock holder': {
    isLong: true,
    run: async ({ stack: { postgres }, reportCreates }) => {
      const admin = await postgres.connect()
      const pid = await stopLockHolder(admin)
      await reportCreates(lockedMs)
      signalAll([pid], 'SIGCONT')
      await admin.end()
    },
  },
  'all backends stopped': {
    stopsCreates: true,
    run: async ({ stack: { postgres } }) => {
      const pids = await postgres.children()
      signalAll(pids, 'SIGSTOP')
      await sleep(frozenMs)
      signalAll(pids, 'SIGCONT')
    },
  },
  'redis client pause': {
    run: async ({ stack: { redis } }) => {
      await redis.command(`CLIENT PAUSE ${clientPauseMs} ALL`)
      await sleep(clientPauseMs)
    },
  },
} satisfies Record<string, Fault>
