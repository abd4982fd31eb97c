import { afterAll, beforeAll, expect, test } from 'vitest'

import { createDatabase, type TestDatabase } from '../../../test/kit/database.ts'
import { createAccount } from '../../../test/kit/factories.ts'
import { uuidV7 } from '../../platform/ids/uuid.ts'
import { createLog } from '../../platform/log.ts'
import { openSecret, sealSecret } from '../../platform/sealed-secret.ts'
import { Secret } from '../../platform/secret.ts'
import { resealWebhookSecrets } from './reseal-secrets.ts'
import { createWebhookSecret, webhookSecretOwner } from './webhook-secret.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database[Symbol.asyncDispose]())

const [newest, oldest] = [new Secret('the newest secret'), new Secret('the oldest secret')]
const log = createLog({ level: 'silent' }, 'test')
const resealAll = () =>
  resealWebhookSecrets(
    { database: database.postgres, secrets: [newest, oldest], log },
    new AbortController().signal,
  )

test('after a rotation the old secret is no longer needed for what it encrypted', async () => {
  const { postgres } = database
  const accountId = await createAccount(postgres)
  const owner = webhookSecretOwner(accountId)
  const secrets = Array.from({ length: 4 }, createWebhookSecret)
  const sealed = secrets.map((secret) => sealSecret([oldest], owner, secret))
  const endpoint = uuidV7()
  await postgres.query(
    `insert into webhook_endpoints (id, account_id, kind, url, events, secret, previous_secret)
     values ($1, $2, 'account', 'https://example.com', '{}', $3, $4)`,
    [endpoint, accountId, sealed[0], sealed[1]],
  )
  await postgres.query(
    'insert into webhook_secrets (account_id, secret, previous_secret) values ($1, $2, $3)',
    [accountId, sealed[2], sealed[3]],
  )
  expect(await resealAll()).toBe(2)
  const { rows } = await postgres.query<{ secret: Buffer; previous: Buffer }>(
    `select secret, previous_secret as previous from webhook_endpoints where id = $1
     union all select secret, previous_secret from webhook_secrets where account_id = $2`,
    [endpoint, accountId],
  )
  const opened = rows.flatMap(({ secret, previous }) =>
    [secret, previous].map((each) => openSecret([newest], owner, each)?.reveal()),
  )
  expect(opened).toEqual(secrets.map((secret) => secret.reveal()))
  expect(await resealAll()).toBe(0)
})

test('a secret that no configured secret opens stays as it is, in case that one is configured again', async () => {
  const { postgres } = database
  const accountId = await createAccount(postgres)
  const lost = sealSecret([new Secret('a lost secret')], webhookSecretOwner(accountId), createWebhookSecret())
  await postgres.query('insert into webhook_secrets (account_id, secret) values ($1, $2)', [accountId, lost])
  expect(await resealAll()).toBe(0)
  const { rows } = await postgres.query<{ secret: Buffer }>(
    'select secret from webhook_secrets where account_id = $1',
    [accountId],
  )
  expect(rows[0]?.secret).toEqual(lost)
})
