/** The baseline of create and read: Fastify and `pg`, with one statement per request and nothing else. */
import { randomUUID } from 'node:crypto'

import fastify from 'fastify'
import pg from 'pg'

const [port, databaseUrl] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: databaseUrl, max: 10 })
await pool.query(`create table bare_tasks (id text primary key, account_id uuid not null, model text not null, state text not null,
  progress smallint not null default 0, video_order jsonb not null, prompt text not null, prices jsonb not null,
  hold_micros bigint not null, created_at timestamptz not null)`)
await pool.query('create index on bare_tasks (account_id, created_at desc, id desc)')

const text = { type: 'string' }
const integer = { type: 'integer' }
const order = { model: text, prompt: text, seconds: integer, size: text }
const video = {
  type: 'object',
  properties: { id: text, object: text, status: text, progress: integer, created_at: integer, ...order },
}
interface Order {
  model: string
  prompt: string
  seconds: number
  size: string
}
const accountId = randomUUID()
const app = fastify()

app.post<{ Body: Order }>(
  '/v1/videos',
  {
    schema: {
      body: { type: 'object', required: ['model', 'prompt'], properties: order },
      response: { 200: video },
    },
  },
  async ({ body }) => {
    const id = `video_${randomUUID()}`
    const createdAt = new Date()
    await pool.query({
      name: 'create',
      text: `insert into bare_tasks (id, account_id, model, state, video_order, prompt, prices, hold_micros, created_at)
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
      values: [
        id,
        accountId,
        body.model,
        'pending',
        JSON.stringify(body),
        body.prompt,
        '{}',
        400_000,
        createdAt,
      ],
    })
    const created_at = Math.floor(createdAt.getTime() / 1000)
    return { id, object: 'video', status: 'pending', progress: 0, created_at, ...body }
  },
)

app.get<{ Params: { id: string } }>(
  '/v1/videos/:id',
  { schema: { response: { 200: video } } },
  async ({ params }, reply) => {
    const { rows } = await pool.query<{
      state: string
      progress: number
      video_order: Order
      created_at: Date
    }>({
      name: 'read',
      text: 'select * from bare_tasks where id = $1',
      values: [params.id],
    })
    const [task] = rows
    if (task === undefined) return reply.code(404).send({})
    const created_at = Math.floor(task.created_at.getTime() / 1000)
    const { state: status, progress } = task
    return { id: params.id, object: 'video', status, progress, created_at, ...task.video_order }
  },
)

await app.listen({ host: '127.0.0.1', port: Number(port) })
process.send?.('ready')
