/** Receivers that hang do not delay the webhooks of others, nor videos. `npm run prove:webhooks` runs the long form. */
import { setTimeout as pause } from 'node:timers/promises'

import { expect, test } from 'vitest'

import { createAccount } from '../kit/factories.ts'
import { startStack, type Stack } from '../kit/stack.ts'
import { minutes } from '../kit/time-limits.ts'
import { startWebhookReceivers, type WebhookReceivers } from '../kit/webhook-receivers.ts'

const endpoints = Number(process.env['WEBHOOK_HANGING'] ?? 100)
const events = Number(process.env['WEBHOOK_HANGING_EVENTS'] ?? 1_000)
const samples = Number(process.env['WEBHOOK_SAMPLES'] ?? 40)
const everyMs = 50
/** A busy machine delays everything; the same events without receivers that hang say by how much. */
const delayMsMax = 1_000

const quantile = (values: number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(share * values.length))] ?? 0

/** Records events of tasks that do not exist, at a steady rate, and returns how long each took to arrive. */
const measureDelays = async (
  { database, accountId }: Stack,
  receivers: WebhookReceivers,
  endpoint: string,
  name: string,
): Promise<number[]> => {
  const startedMs: number[] = []
  for (let sample = 0; sample < samples; sample += 1) {
    startedMs.push(performance.now())
    await database.postgres.query(
      `insert into task_events (day, task_id, id, kind, account_id) values (current_date, $1, 2, 'failed', $2)`,
      [`${name}-${sample}`, accountId],
    )
    await pause(everyMs)
  }
  const arrivalsOf = () =>
    receivers.arrivals.filter((each) => each.endpoint === endpoint && each.body.includes(`"${name}-`))
  await expect.poll(() => arrivalsOf().length).toBe(samples)
  const arrivedMs = new Map(
    arrivalsOf().map(({ body, atMs }) => [(JSON.parse(body) as { data: { id: string } }).data.id, atMs]),
  )
  return startedMs.map((atMs, sample) => (arrivedMs.get(`${name}-${sample}`) ?? Infinity) - atMs)
}

/** From the create of videos to their start. */
const measureStarts = async (stack: Stack): Promise<number[]> => {
  const ids: string[] = []
  for (let sample = 0; sample < samples; sample += 1) {
    ids.push(await stack.create(`A boat, number ${sample}`))
    await pause(everyMs)
  }
  await stack.until('all have started', async () => {
    const { rows } = await stack.database.postgres.query<{ count: number }>(
      `select count(*) from task_events where kind = 'processing' and task_id = any ($1)`,
      [ids],
    )
    return rows[0]?.count === ids.length
  })
  const { rows } = await stack.database.postgres.query<{ ms: number }>(
    `select extract(epoch from started.created_at - accepted.created_at)::double precision * 1000 as ms
       from task_events accepted join task_events started on started.task_id = accepted.task_id and started.kind = 'processing'
      where accepted.kind = 'accepted' and accepted.task_id = any ($1)`,
    [ids],
  )
  return rows.map(({ ms }) => ms)
}

const hang = async ({ database: { postgres } }: Stack, receivers: WebhookReceivers) => {
  const accountId = await createAccount(postgres)
  const ids = await Promise.all(
    Array.from({ length: endpoints }, () => receivers.add(postgres, accountId, 'hang', [])),
  )
  await postgres.query(
    `with endpoint as (
       select id, row_number() over () as n from unnest($2::uuid[]) as id
     ), delivery as (
       insert into webhook_deliveries (day, id, account_id, endpoint_id, event_id, type, object_id, occurred_at, next_attempt_at)
       select current_date, uuid_v7(), $1, endpoint.id, 'evt_' || event, 'video.failed', 'hanging-' || event, now(), now()
         from generate_series(1, $3::integer) as event join endpoint on endpoint.n = event % $4 + 1
       returning endpoint_id
     )
     select count(pg_notify('webhook_deliveries', endpoint_id::text)) from (select distinct endpoint_id from delivery) as told`,
    [accountId, ids.map(({ id }) => id), events, endpoints],
  )
  await expect.poll(() => receivers.arrivals.length).toBeGreaterThan(endpoints)
}

test('receivers that hang delay neither other webhooks nor videos', { timeout: minutes(10) }, async () => {
  await using stack = await startStack({ environment: { WEBHOOK_ALLOW_LOOPBACK: 'true' }, slots: 500 })
  await using receivers = await startWebhookReceivers()
  const { id } = await receivers.add(stack.database.postgres, stack.accountId, 'ok', ['video.failed'])
  const startsBefore = await measureStarts(stack)
  const before = await measureDelays(stack, receivers, id, 'before')
  await hang(stack, receivers)
  const during = await measureDelays(stack, receivers, id, 'during')
  const startsDuring = await measureStarts(stack)
  const shown = (values: number[]) =>
    [0.5, 0.99, 1].map((share) => quantile(values, share).toFixed(0)).join(' / ')
  console.log(
    `${endpoints} endpoints that hang, ${events} events. p50 / p99 / max in ms: ` +
      `other webhooks ${shown(before)} → ${shown(during)}, start of videos ${shown(startsBefore)} → ${shown(startsDuring)}`,
  )
  expect(quantile(during, 1)).toBeLessThan(delayMsMax + quantile(before, 1))
  expect(quantile(startsDuring, 0.99)).toBeLessThan(2 * quantile(startsBefore, 0.99) + delayMsMax)
})
