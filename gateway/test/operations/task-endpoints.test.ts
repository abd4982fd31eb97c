/** The webhook endpoints that stand for the origins of the URLs that creates name. */
import { randomUUID } from 'node:crypto'

import { afterAll, beforeAll, expect, test } from 'vitest'

import { openSecret } from '../../src/platform/sealed-secret.ts'
import { Secret } from '../../src/platform/secret.ts'
import { removeUnusedEndpoints } from '../../src/retention/expired-row-store.ts'
import { removeOldDeliveries } from '../../src/retention/expired-task-store.ts'
import { claimDue } from '../../src/webhooks/deliveries/delivery-store.ts'
import { webhookSecretOwner } from '../../src/webhooks/signing/webhook-secret.ts'
import { ask, expectProblem } from '../kit/answers.ts'
import { linkSecret } from '../kit/factories.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'
import {
  createCustomer,
  createTranscriptionTask,
  createVideo,
  deliveriesOf,
  endCreated,
  taskEndpointsOf,
  taskOf,
  type Customer,
} from '../kit/webhook-creations.ts'
import { wholeRecordOf } from '../kit/whole-record.ts'

const url = 'https://example.com/done?task=1'

let gateway: TestGateway
let customer: Customer

beforeAll(async () => {
  gateway = await startGateway()
  customer = await createCustomer(gateway)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const query = async <Row extends Record<string, unknown>>(text: string, values: unknown[] = []) =>
  (await gateway.database.postgres.query<Row>(text, values)).rows

test('is shared by the URLs of an account, and by no other account', async () => {
  const [one, other] = [await createCustomer(gateway), await createCustomer(gateway)]
  const urls = ['https://a.example/1', 'https://a.example/2', 'https://b.example:8443/']
  const create = (by: Customer, each: string) => createVideo(by, { webhook_url: each })
  const created = await Promise.all(
    [one, other].flatMap((by) => urls.map(async (each) => ({ by, id: taskOf(await create(by, each)) }))),
  )
  const ids = new Set<string>()
  for (const by of [one, other]) {
    const endpoints = await taskEndpointsOf(by)
    expect(endpoints.map((each) => each.url)).toEqual(['https://a.example', 'https://b.example:8443'])
    for (const { id } of endpoints) ids.add(id)
  }
  expect(ids.size).toBe(4)
  for (const { by, id } of created) {
    await endCreated(gateway, 'video', id)
    const [delivery] = await deliveriesOf(gateway, id)
    const own = (await taskEndpointsOf(by)).map((each) => each.id)
    expect(delivery).toMatchObject({ accountId: by.accountId, endpointId: expect.toBeOneOf(own) })
  }
})

test('has the secret of its account, which can be read', async () => {
  const by = await createCustomer(gateway)
  const id = taskOf(await createVideo(by, { webhook_url: url }))
  const { body } = await ask(`${gateway.url}/v1/webhook_secret`, by.key)
  await endCreated(gateway, 'video', id)
  const [endpoint] = await taskEndpointsOf(by)
  const [claimed] = await claimDue(gateway.database.postgres, endpoint?.id ?? '', randomUUID(), 1, 1_000)
  const owner = webhookSecretOwner(by.accountId)
  const secrets = claimed?.secrets.map((each) => openSecret([new Secret(linkSecret)], owner, each)?.reveal())
  expect(secrets).toEqual([body['secret']])
  expect(claimed).toMatchObject({ url, accountId: by.accountId })
})

test('is written at most once a day', async () => {
  const by = await createCustomer(gateway)
  await createVideo(by, { webhook_url: url })
  const [first] = await taskEndpointsOf(by)
  taskOf(await createVideo(by, { webhook_url: url }))
  expect(await taskEndpointsOf(by)).toEqual([first])
  await query(
    `update webhook_endpoints set used_at = now() - interval '25 hours', failures = 3 where id = $1`,
    [first?.id],
  )
  taskOf(await createVideo(by, { webhook_url: url }))
  const [again] = await taskEndpointsOf(by)
  expect(again?.id).toBe(first?.id)
  expect(again?.usedAt.getTime()).toBeGreaterThanOrEqual(first?.usedAt.getTime() ?? Infinity)
  expect(await query('select failures from webhook_endpoints where id = $1', [first?.id])).toEqual([
    { failures: 3 },
  ])
})

test.each(['gone', 'failing'])('that is disabled as %s is enabled by the next create', async (reason) => {
  const by = await createCustomer(gateway)
  taskOf(await createVideo(by, { webhook_url: url }))
  const [endpoint] = await taskEndpointsOf(by)
  await query(
    `update webhook_endpoints
          set disabled_at = now(), disabled_reason = $2, failures = 9, failing_since = now() - interval '6 days',
              paused_until = now() + interval '1 minute'
        where id = $1`,
    [endpoint?.id, reason],
  )
  taskOf(await createVideo(by, { webhook_url: url }))
  expect(
    await query(
      `select id, disabled_at, disabled_reason, failures, failing_since, paused_until from webhook_endpoints
          where account_id = $1`,
      [by.accountId],
    ),
  ).toEqual([
    {
      ...{ id: endpoint?.id, disabled_at: null, disabled_reason: null },
      ...{ failures: 0, failing_since: null, paused_until: null },
    },
  ])
})

test('an account has at most 100, and continues with those', async () => {
  const by = await createCustomer(gateway)
  const create = (number: number) => createVideo(by, { webhook_url: `https://r${number}.example.com/` })
  const answers = await Promise.all(Array.from({ length: 103 }, (_, number) => create(number)))
  const refused = answers.filter(({ status }) => status !== 200)
  expect(refused).toHaveLength(3)
  for (const answer of refused) expectProblem(answer, 'conflict', 'webhook_url')
  const [known] = await taskEndpointsOf(by)
  taskOf(await createVideo(by, { webhook_url: `${known?.url}/another` }))
  expectProblem(await create(200), 'conflict', 'webhook_url')
  // Other accounts are not affected, and neither are creates without a webhook.
  taskOf(await createVideo(by, {}))
  taskOf(await createVideo(customer, { webhook_url: 'https://r200.example.com/' }))
  // One that was not used for a while does not count, although its log remains.
  await query(`update webhook_endpoints set used_at = now() - interval '31 days' where id = $1`, [known?.id])
  taskOf(await create(200))
})

test('the last free ones are not exceeded by a transcription task', async () => {
  const by = await createCustomer(gateway)
  await query(
    `insert into webhook_endpoints (id, account_id, kind, url, events)
       select gen_random_uuid(), $1, 'task', 'https://r' || n || '.example.com', '{}' from generate_series(1, 100) n`,
    [by.accountId],
  )
  const before = await wholeRecordOf(gateway)
  expectProblem(await createTranscriptionTask(by, { webhook_url: url }), 'conflict', 'webhook_url')
  expect(await wholeRecordOf(gateway)).toEqual(before)
})

test('what is pending for a disabled origin ends with the log, and then the endpoint', async () => {
  const { postgres } = gateway.database
  const [disabled, enabled] = [await createCustomer(gateway), await createCustomer(gateway)]
  for (const by of [disabled, enabled]) {
    const id = taskOf(await createVideo(by, { webhook_url: url }))
    await endCreated(gateway, 'video', id)
    await query(`update webhook_deliveries set day = day - 40 where account_id = $1`, [by.accountId])
    await query(`update webhook_endpoints set used_at = now() - interval '40 days' where account_id = $1`, [
      by.accountId,
    ])
  }
  await query(
    `update webhook_endpoints set disabled_at = now(), disabled_reason = 'failing' where account_id = $1`,
    [disabled.accountId],
  )
  const sweep = async () => {
    await removeUnusedEndpoints(postgres, 30, 100)
    await removeOldDeliveries(postgres, 30, 100)
  }
  await sweep()
  expect(await taskEndpointsOf(disabled)).toHaveLength(1)
  await sweep()
  expect(await taskEndpointsOf(disabled)).toEqual([])
  expect(await taskEndpointsOf(enabled)).toHaveLength(1)
  const left = await query('select account_id from webhook_deliveries where day < current_date - 30')
  expect(left).toEqual([{ account_id: enabled.accountId }])
})
