/** How many bytes of PostgreSQL a video takes, and a request in the log, with their indexes and the space that updates leave. */
import type { Client } from 'pg'

import { until } from '../gateway/test/faults/part.ts'
import { createVideoOf, readVideosOf, startBenchStack, untilNoneIsOpen } from './bench-stack.ts'
import { minus, per, total, type Figures } from './measure/figures.ts'
import { runLoad } from './measure/load.ts'

export interface RecordSizeOptions {
  tasks: number
  reads: number
}

/** Bytes of one video, or of one request, by table. */
export interface RecordSizeFigures {
  video: Figures
  read: Figures
}

const recordedWithinMs = 60_000

/** Bytes by table, of all of its partitions. */
const readSizes = async (client: Client): Promise<Figures> => {
  await client.query('vacuum')
  const { rows } = await client.query<{ name: string; bytes: number }>(
    `select pg_partition_root(oid)::regclass::text as name, sum(pg_total_relation_size(oid))::float8 as bytes
       from (select oid from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' and relispartition
             ) as partitions group by 1
     union all
     select relname, pg_total_relation_size(oid)::float8 from pg_class
      where relnamespace = 'public'::regnamespace and relkind = 'r' and not relispartition`,
  )
  return Object.fromEntries(rows.map(({ name, bytes }) => [name, bytes]))
}

export const measureRecordSize = async ({ tasks, reads }: RecordSizeOptions): Promise<RecordSizeFigures> => {
  await using bench = await startBenchStack()
  const { stack, keys, origin } = bench
  const [first] = keys
  const client = await stack.postgres.connect()
  const untilLogged = (requests: number) =>
    until(
      'all requests are in the log',
      async () => {
        const { rows } = await client.query<{ count: number }>(
          'select count(*)::integer as count from request_log',
        )
        return (rows[0]?.count ?? 0) >= requests
      },
      { withinMs: recordedWithinMs, everyMs: 200 },
    )
  try {
    // The first tasks fill the pages that every table and index begins with.
    const run = (count: number) =>
      runLoad(origin, createVideoOf(keys, 'vendor:duration=0'), { until: { count } })
    await run(tasks)
    await untilNoneIsOpen(stack)
    await untilLogged(tasks)
    const before = await readSizes(client)
    await run(tasks)
    await untilNoneIsOpen(stack)
    await untilLogged(2 * tasks)
    const after = await readSizes(client)
    const own = await client.query<{ id: string }>('select id from video_tasks where account_id = $1', [
      first?.accountId,
    ])
    const ids = own.rows.map(({ id }) => id)
    await runLoad(origin, readVideosOf(ids, first), { until: { count: reads } })
    await untilLogged(2 * tasks + reads)
    const last = await readSizes(client)
    const { request_log: logged = 0 } = minus(last, after)
    // The log of the creates is counted with all requests.
    const ofVideo = Object.entries(per(minus(after, before), tasks)).filter(
      ([name]) => name !== 'request_log',
    )
    const video = Object.fromEntries(ofVideo)
    return {
      video: { ...video, total: total(video) },
      read: { request_log: logged / reads },
    }
  } finally {
    await client.end()
  }
}
