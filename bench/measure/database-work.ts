/** What the roles do in the database, as PostgreSQL counts it. */
import { setTimeout as pause } from 'node:timers/promises'

import type { FaultStack } from '../../gateway/test/faults/fault-stack.ts'
import { until } from '../../gateway/test/faults/part.ts'
import type { Figures } from './figures.ts'

/** The settings with which PostgreSQL counts statements. */
export const countingSettings = ['shared_preload_libraries=pg_stat_statements']

export const startCounting = async ({ postgres }: FaultStack): Promise<void> => {
  await postgres.query('create extension pg_stat_statements')
}

export interface DatabaseWork {
  /** How often each statement was executed. */
  statements: Map<string, number>
  /** The rows inserted, updated and deleted by table; partitions count as their table. */
  writes: Map<string, number>
}

/**
 * Ends the connections of the roles, because a session adds its row writes to the statistics with a delay of seconds, or when
 * it ends. The roles connect again.
 */
const flushStatistics = async ({ postgres }: FaultStack): Promise<void> => {
  const ended = await postgres.query<{ pid: number }>(
    `select pid, pg_terminate_backend(pid) from pg_stat_activity where application_name ~ '^(api|worker)-'`,
  )
  await until('the sessions have ended', async () => {
    const left = await postgres.query('select from pg_stat_activity where pid = any($1::int[])', [
      ended.map(({ pid }) => pid),
    ])
    return left.length === 0
  })
}

/** In a statement of the benchmark itself. */
export const notCounted = '/* not counted */'

/** Since the start. Row writes of the last seconds may be missing. */
export const readWork = async ({ postgres }: FaultStack): Promise<DatabaseWork> => {
  const statements = await postgres.query<{ query: string; calls: number }>(
    `select query, sum(calls)::float8 as calls from pg_stat_statements where query !~ 'pg_(stat|terminate)_' and position($1 in query) = 0
      group by query`,
    [notCounted],
  )
  const writes = await postgres.query<{ name: string; rows: number }>(
    `select regexp_replace(relname, '_\\d{4}_\\d{2}$', '') as name, sum(n_tup_ins + n_tup_upd + n_tup_del)::float8 as rows
       from pg_stat_user_tables group by 1`,
  )
  return {
    statements: new Map(statements.map(({ query, calls }) => [query, calls])),
    writes: new Map(writes.map(({ name, rows }) => [name, rows])),
  }
}

/** The same in sum, with commits and WAL. Row writes of the last seconds may be missing. */
export const readTotals = async (stack: FaultStack): Promise<Figures> => {
  const { statements, writes } = await readWork(stack)
  const [wal] = await stack.postgres.query<{ bytes: number }>(
    `select (pg_current_wal_insert_lsn() - '0/0')::float8 as bytes`,
  )
  const sum = (counts: Map<string, number>) => counts.values().reduce((all, count) => all + count, 0)
  return { statements: sum(statements), writes: sum(writes), 'KiB of WAL': (wal?.bytes ?? 0) / 1024 }
}

const minus = (after: Map<string, number>, before: Map<string, number>) =>
  new Map([...after].map(([name, value]) => [name, value - (before.get(name) ?? 0)]))

/** Counts what the roles do during `work`. No request may be in progress before and after it. */
const countWork = async (stack: FaultStack, work: () => Promise<void>): Promise<DatabaseWork> => {
  await flushStatistics(stack)
  const before = await readWork(stack)
  await work()
  await flushStatistics(stack)
  const after = await readWork(stack)
  return {
    statements: minus(after.statements, before.statements),
    writes: minus(after.writes, before.writes),
  }
}

/** What the roles do by themselves per second: the mean over this time, during which no request may be in progress. */
export const countBackground = async (stack: FaultStack, seconds: number): Promise<DatabaseWork> => {
  const startMs = performance.now()
  const work = await countWork(stack, () => pause(seconds * 1000))
  const elapsedSeconds = (performance.now() - startMs) / 1000
  const perSecond = (counts: Map<string, number>) =>
    new Map([...counts].map(([name, count]) => [name, count / elapsedSeconds]))
  return { statements: perSecond(work.statements), writes: perSecond(work.writes) }
}

const less = (counts: Map<string, number>, perSecond: Map<string, number>, seconds: number) =>
  new Map(
    [...counts].map(([name, count]) => [name, Math.max(0, count - (perSecond.get(name) ?? 0) * seconds)]),
  )

/** Counts as `countWork` does, without what the roles would have done meanwhile by themselves. */
export const countWorkAlone = async (
  stack: FaultStack,
  background: DatabaseWork,
  work: () => Promise<void>,
): Promise<DatabaseWork> => {
  const startMs = performance.now()
  const { statements, writes } = await countWork(stack, work)
  const seconds = (performance.now() - startMs) / 1000
  return {
    statements: less(statements, background.statements, seconds),
    writes: less(writes, background.writes, seconds),
  }
}

/** The statements that took the most time, those of triggers included if PostgreSQL tracks all. */
export const summarizeStatements = async ({ postgres }: FaultStack): Promise<string> => {
  type Row = { planned: number; executed: number; calls: number; text: string; isTop: boolean }
  const rows = await postgres.query<Row>(
    `select total_plan_time / 1000 as planned, total_exec_time / 1000 as executed, calls::float8 as calls,
            left(regexp_replace(query, '\\s+', ' ', 'g'), 120) as text, toplevel as "isTop"
       from pg_stat_statements order by total_plan_time + total_exec_time desc limit 30`,
  )
  const lines = rows.map(({ planned, executed, calls, text, isTop }) =>
    [
      ` ${executed.toFixed(2).padStart(6)} s, planning ${planned.toFixed(2).padStart(5)} s`,
      `${String(calls).padStart(7)} ×  ${isTop ? '' : '(within another) '}${text}`,
    ].join('  '),
  )
  return ['PostgreSQL, by statement', ...lines].join('\n')
}
