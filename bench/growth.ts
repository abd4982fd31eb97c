/** What requests cost when the record is large, against a service whose record is almost empty. */
import { createVideoOf, measureLoad, startBenchStack, type BenchStack } from './bench-stack.ts'
import { runLoad, type RequestOf } from './measure/load.ts'
import { measureInTurns, type Rounds } from './measure/rounds.ts'

export interface GrowthOptions {
  sizes: number[]
  rounds: number
  ms: number
}

type Arm = 'empty' | 'full'
const operations = ['create', 'read', 'first page', 'deep page'] as const
type GrowthOperation = (typeof operations)[number]

export interface GrowthFigures {
  rows: number
  operations: Record<GrowthOperation, Rounds<Arm>>
}

const connections = 8
const polledTasks = 1_000
const stride = 7_919
/** Enough for ten million tasks. */
const queryTimeoutMs = 1_800_000

/** The service itself only creates partitions for the current and later months. */
const createLastMonth = `do $$
declare
  parent text;
  month date := date_trunc('month', now() at time zone 'utc') - interval '1 month';
begin
  foreach parent in array array['video_tasks', 'task_events', 'ledger_entries'] loop
    execute format('create table if not exists %I partition of %I for values from (%L) to (%L)',
      parent || to_char(month, '_YYYY_MM'), parent, month, (month + interval '1 month')::date);
  end loop;
end $$`

const connectLong = async ({ postgres }: BenchStack['stack']) => {
  const client = await postgres.connect({ queryTimeoutMs })
  return {
    query: (text: string, values?: unknown[]) => client.query(text, values),
    [Symbol.asyncDispose]: () => client.end(),
  }
}

/**
 * Adds ended tasks of the last 28 days, with their media, events and ledger entries, from one number to another. They are
 * inserted in the order of their time, as a service would.
 */
const fill = async ({ stack, keys }: BenchStack, from: number, to: number): Promise<void> => {
  await stack.postgres.query(createLastMonth)
  const accounts = keys.map(({ accountId }) => accountId)
  const keyIds = keys.map(({ keyId }) => keyId)
  const perStatement = 50_000
  let next = from
  const insertRest = async () => {
    await using client = await connectLong(stack)
    await client.query('set synchronous_commit = off')
    while (next < to) {
      const start = next
      next += perStatement
      await client.query(
        `with given as materialized (
           select n, gen_random_uuid() as media, 1 + n % cardinality($3::uuid[]) as owner,
                  now() - interval '28 days' * (($6::int - n)::float8 / ($6::int - $5::int)) as at
             from generate_series($1::int, $2::int - 1) as n
         ), named as materialized (
           select *, (at at time zone 'utc')::date as day,
                  'vidB-2:' || floor(extract(epoch from at))::bigint || '-00' || substr(md5(n::text), 1, 12) as id from given
         ), task as (
           insert into video_tasks (day, id, account_id, key_id, model, family, created_via, state, progress, video_order,
                                    enhanced_prompt, provider, upstream, wallet, prices, hold_micros, captured_micros, media_id,
                                    last_event, created_at, status_updated_at, finished_at)
           select day, id, ($3::uuid[])[owner], ($4::uuid[])[owner], 'vidB-2', 'B', 'videos', 'completed', 100,
                  jsonb_build_object('prompt', 'A whale, take ' || n, 'seconds', 4, 'size', '1280x720', 'width', 1280,
                                     'height', 720, 'watermark', true, 'isPrivate', false),
                  'A whale, take ' || n, 'repeatable', '{"id":"video_0123456789abcdef"}', 'payg', '[]', 400000, 400000, media, 3,
                  at, at + interval '1 minute', at + interval '1 minute' from named
         ), file as (
           insert into media (id, account_id, task_id, kind, storage_key, content_type, size_bytes, sha256, width, height,
                              duration_ms, created_at, expires_at)
           select media, ($3::uuid[])[owner], id, 'video', 'videos/' || media, 'video/mp4', 1000000, '\\x00', 1280, 720, 4000,
                  at, at + interval '60 days' from named
         ), event as (
           insert into task_events (day, task_id, id, kind, created_at)
           select day, named.id, event.id, kind, at from named,
                  (values (1, 'accepted'), (2, 'processing'), (3, 'completed')) as event (id, kind)
         )
         insert into ledger_entries (day, account_id, wallet, task_id, key_id, movement, book, amount_micros, created_at)
         select day, ($3::uuid[])[owner], 'payg', id, ($4::uuid[])[owner], movement, book, amount, at from named,
                (values ('hold', 'available', -400000), ('hold', 'held', 400000), ('capture', 'held', -400000),
                        ('capture', 'revenue', 400000)) as entry (movement, book, amount)`,
        [start, Math.min(to, start + perStatement), accounts, keyIds, from, to],
      )
    }
  }
  await Promise.all([insertRest(), insertRest()])
  await vacuum(stack)
}

/** Autovacuum would do it while something is measured. */
const vacuum = async (stack: BenchStack['stack']): Promise<void> => {
  await using client = await connectLong(stack)
  await client.query('vacuum analyze')
  await client.query('checkpoint')
}

const idsOf = async ({ stack, keys: [key] }: BenchStack): Promise<string[]> => {
  const rows = await stack.postgres.query<{ id: string }>(
    'select id from video_tasks where account_id = $1 order by random() limit $2',
    [key?.accountId, polledTasks],
  )
  return rows.map(({ id }) => id)
}

const requestsOf = async (bench: BenchStack): Promise<Record<GrowthOperation, RequestOf>> => {
  const ids = await idsOf(bench)
  const authorization = `Bearer ${bench.keys[0]?.text}`
  const get = (path: string) => ({ method: 'GET', path, headers: { authorization } }) as const
  const idAt = (index: number) => encodeURIComponent(ids[(index * stride) % ids.length] ?? '')
  return {
    create: createVideoOf(bench.keys),
    read: (index) => get(`/v1/videos/${idAt(index)}`),
    'first page': () => get('/v1/videos?limit=20'),
    'deep page': (index) => get(`/v1/videos?limit=20&after=${idAt(index)}`),
  }
}

export const measureGrowth = async ({ sizes, rounds, ms }: GrowthOptions): Promise<GrowthFigures[]> => {
  await using empty = await startBenchStack()
  await using full = await startBenchStack()
  for (const bench of [empty, full]) {
    // Only requests are measured.
    await bench.stack.workers[0].kill()
    await runLoad(bench.origin, createVideoOf(bench.keys.slice(0, 1)), { until: { count: polledTasks } })
  }
  await vacuum(empty.stack)
  const requestsOfEmpty = await requestsOf(empty)
  const figures: GrowthFigures[] = []
  let filled = 0
  for (const rows of sizes) {
    await fill(full, filled, rows)
    filled = rows
    const requestsOfFull = await requestsOf(full)
    const measured: Partial<Record<GrowthOperation, Rounds<Arm>>> = {}
    for (const operation of operations) {
      const options = { connections, until: { ms } }
      const measure = (bench: BenchStack, request: RequestOf) => async () =>
        (await measureLoad(bench.cpu, bench.origin, request, options)).figures
      measured[operation] = await measureInTurns(
        {
          empty: measure(empty, requestsOfEmpty[operation]),
          full: measure(full, requestsOfFull[operation]),
        },
        rounds,
      )
    }
    figures.push({ rows, operations: measured as Record<GrowthOperation, Rounds<Arm>> })
  }
  return figures
}
