/**
 * The baseline of a queue by hand: the same calls to the vendor, with leases in PostgreSQL and twelve row writes per task. A
 * message with a number runs so many tasks and is answered when all have ended.
 */
import { createHash, randomUUID } from 'node:crypto'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import pg from 'pg'
import { Pool } from 'undici'

import { answerRuns } from './answer-runs.ts'

const [databaseUrl, vendorUrl = '', apiKey, directory = ''] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: databaseUrl, max: 16 })
const vendor = new Pool(vendorUrl, { connections: 32 })
const workers = 16
const authorization = `Bearer ${apiKey}`

await pool.query(`create table lease_tasks (id text primary key, stage smallint not null default 0, video_order jsonb not null,
  upstream text, media text, not_before timestamptz not null default now(), leased_until timestamptz) with (fillfactor = 50)`)
await pool.query('create index on lease_tasks (stage, not_before) where stage < 4')
await pool.query(
  'create table lease_events (id bigint generated always as identity primary key, task_id text not null)',
)

interface Task {
  id: string
  video_order: object
  upstream: string
}
const call = async (method: 'GET' | 'POST', path: string, headers = {}, body?: string) => {
  const response = await vendor.request({
    method,
    path,
    headers: { authorization, ...headers },
    ...(body !== undefined && { body }),
  })
  if (response.statusCode >= 300) throw new Error(`the vendor answered ${response.statusCode} to ${path}`)
  return response.body
}
const submit = async ({ id, video_order }: Task) => {
  const headers = { 'content-type': 'application/json', 'idempotency-key': id }
  const body = await call('POST', '/v1/videos', headers, JSON.stringify(video_order))
  return { upstream: ((await body.json()) as { id: string }).id }
}
/** Undefined while the vendor is still working. */
const poll = async ({ upstream }: Task) => {
  const body = await call('GET', `/v1/videos/${upstream}`)
  return ((await body.json()) as { status: string }).status === 'completed' ? {} : undefined
}
const store = async ({ id, upstream }: Task) => {
  const hash = createHash('sha256')
  await using file = await open(join(directory, id), 'w')
  for await (const chunk of await call('GET', `/v1/videos/${upstream}/content`)) {
    hash.update(chunk as Buffer)
    await file.write(chunk as Buffer)
  }
  await file.sync()
  return { media: hash.digest('hex') }
}
const stages: ((task: Task) => Promise<{ upstream?: string; media?: string } | undefined>)[] = [
  submit,
  poll,
  store,
  async () => ({}),
]

let left = 0
/** The insert, a lease and an end for each of four stages, and three events: twelve row writes. */
const advance = async (stage: number): Promise<boolean> => {
  const { rows } = await pool.query<Task>({
    name: 'lease',
    text: `update lease_tasks set leased_until = now() + interval '1 minute'
            where id = (select id from lease_tasks where stage = $1 and not_before <= now()
                           and (leased_until is null or leased_until < now())
                         order by not_before limit 1 for update skip locked)
           returning *`,
    values: [stage],
  })
  const [task] = rows
  if (task === undefined) return false
  const result = await stages[stage]?.(task)
  await pool.query({
    name: 'end',
    text: `with event as (insert into lease_events (task_id) select $1 where $2::smallint > $6::smallint and $2 < 4)
           update lease_tasks set stage = $2::smallint, leased_until = null, upstream = coalesce($3, upstream), media = coalesce($4, media),
                                  not_before = now() + make_interval(secs => $5) where id = $1`,
    values: [
      task.id,
      result === undefined ? stage : stage + 1,
      result?.upstream ?? null,
      result?.media ?? null,
      result === undefined ? 0.25 : 0,
      stage,
    ],
  })
  if (stage === stages.length - 1) left -= 1
  return true
}
const work = async () => {
  while (left > 0) {
    let hasWorked = false
    for (const stage of [3, 2, 1, 0]) hasWorked ||= await advance(stage)
    if (!hasWorked) await sleep(5)
  }
}
const run = async (count: number) => {
  left = count
  let next = 0
  const insert = async () => {
    while (next < count) {
      next += 1
      const order = {
        model: 'vidB-2',
        prompt: `A whale, take ${next} vendor:duration=0`,
        seconds: '4',
        size: '1280x720',
      }
      await pool.query({
        name: 'insert',
        text: 'insert into lease_tasks (id, video_order) values ($1, $2)',
        values: [randomUUID(), JSON.stringify(order)],
      })
    }
  }
  await Promise.all([...Array.from({ length: 8 }, insert), ...Array.from({ length: workers }, work)])
}

answerRuns(run)
