/** One currency for all amounts of an instance, in every response and message. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { ConfigError, loadSettings } from '../../src/config.ts'
import { createDevelopmentKeys, seedDevelopment } from '../../src/seed.ts'
import { ask, askJson, expectProblem } from '../kit/answers.ts'
import { createDatabase } from '../kit/database.ts'
import { completeTask, createAccount, createKey, keySecret } from '../kit/factories.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

/** The currency of each object with an amount, by its path. */
const currenciesIn = (value: unknown, path = ''): [string, unknown][] => {
  if (typeof value !== 'object' || value === null) return []
  const hasAmount = Object.keys(value).some((name) => name.endsWith('_micros'))
  return [
    ...(hasAmount ? [[path, (value as { currency?: unknown }).currency] satisfies [string, unknown]] : []),
    ...Object.entries(value).flatMap(([name, member]) => currenciesIn(member, `${path}.${name}`)),
  ]
}

const expectEuros = (body: unknown) => {
  const found = currenciesIn(body)
  expect(found.length).toBeGreaterThan(0)
  expect(found.filter(([, currency]) => currency !== 'EUR')).toEqual([])
}

describe('an instance with CURRENCY=EUR', () => {
  let gateway: TestGateway
  let operator: Operator
  let accountId: string
  let key: string
  let taskId: string

  beforeAll(async () => {
    gateway = await startGateway({ CURRENCY: 'EUR' })
    operator = await createOperator(gateway)
    ;({ id: accountId } = await operator.call('createAccount', {
      body: { name: 'Aquarium', spend_cap_micros: 50_000_000 },
    }))
    const budgets = [{ period: 'day', limit_micros: 5_000_000 }]
    ;({ secret: key } = await operator.call('createKey', {
      id: accountId,
      body: { kind: 'payg', quota_micros: 9_000_000, budgets },
    }))
    await operator.call('createTopUp', {
      id: accountId,
      body: { amount_micros: 20_000_000, reason: 'bank transfer', reference: 'INV-1' },
    })
    taskId = String((await create()).body['id'])
    await completeTask(gateway, accountId, taskId)
  })
  afterAll(() => gateway[Symbol.asyncDispose]())

  const create = (seconds = 4, query = '') =>
    askJson(`${gateway.url}/v1/videos${query}`, key, {
      ...{ model: 'vidB-2', prompt: 'A whale', seconds, size: '480x480' },
    })

  test.each(['/v1/me', '/v1/usage', '/v1/usage?group_by=hour,model,key'])(
    'answers its customers in it: GET %s',
    async (path) => {
      expectEuros((await ask(`${gateway.url}${path}`, key)).body)
    },
  )

  test('states it in receipts and quotes', async () => {
    expectEuros((await ask(`${gateway.url}/v1/receipts/${encodeURIComponent(taskId)}`, key)).body)
    const { body } = await create(4, '?dry_run=true')
    expect(body).toMatchObject({ object: 'quote', currency: 'EUR', lines: [{ currency: 'EUR' }] })
  })

  test('states it in billing errors', async () => {
    const { body } = await create(25, '?dry_run=true')
    expect(body['fits']).toBe(true)
    const poor = await createAccount(gateway.database.postgres, { balance: 0 })
    const { text } = await createKey(gateway.database.postgres, poor)
    const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
    const refused = await askJson(`${gateway.url}/v1/videos`, text, order)
    expectProblem(refused, 'insufficient_balance')
    expect(refused.body['error']).toMatchObject({
      message:
        'The balance is too low: 0.00 EUR available; this request needs 0.40 EUR. Top up the account and try again.',
    })
  })

  test('states it in the admin API', async () => {
    const { id: planId } = await operator.call('createPlan', {
      body: { name: 'monthly', cycle_quota_micros: 10_000_000, cycle_days: 30 },
    })
    const subscription = { plan_id: planId, ends_at: Math.floor(Date.now() / 1000) + 86_400 }
    expectEuros(await operator.call('setSubscription', { id: accountId, body: subscription }))
    expectEuros(
      await operator.call('createAdjustment', {
        id: accountId,
        body: { amount_micros: -1, reason: 'a correction' },
      }),
    )
    expectEuros(
      await operator.call('setPrice', { body: { model: 'vidB-2-pro', unit: 'second', unit_micros: 1 } }),
    )
    expectEuros(await operator.call('getAccount', { id: accountId }))
    expectEuros(await operator.call('listMovements', { id: accountId }))
    expectEuros((await operator.ask('getTask', { id: taskId })).body)
    expectEuros(await operator.call('getAnyReceipt', { id: taskId }))
    for (const list of [
      ...(['listAccounts', 'listKeys', 'listPlans', 'listPrices', 'listLedgerEntries'] as const),
      ...(['listTasks', 'getTotalUsage', 'listAuditEntries'] as const),
    ]) {
      expectEuros(await operator.call(list))
    }
  })

  test('accepts its own responses as input and rejects amounts in another currency', async () => {
    const found = await operator.call('listKeys', { query: { account_id: accountId } })
    const { id, budgets, quota_micros: quota, currency } = found.data[0]
    const body = { budgets, quota_micros: quota, currency }
    expect(await operator.call('updateKey', { id, body })).toMatchObject(body)
    expectProblem(
      await operator.ask('updateKey', { id, body: { budgets: [{ ...budgets[0], currency: 'USD' }] } }),
      'invalid_parameter',
      'budgets[0].currency',
    )

    const before = await operator.call('getAccount', { id: accountId })
    const topUp = { amount_micros: 1_000_000, currency: 'USD', reason: 'a card of somewhere else' }
    const refused = await operator.ask('createTopUp', { id: accountId, body: topUp })
    expectProblem(refused, 'invalid_parameter', 'currency')
    expect(refused.body['error']).toMatchObject({
      message: "'currency' must be EUR, the currency of this instance (got 'USD').",
    })
    expect(await operator.call('getAccount', { id: accountId })).toEqual(before)
  })
})

describe('the currency of a database', () => {
  const problem =
    'CURRENCY is EUR, but the amounts in this database are in USD. Amounts are not converted. Set CURRENCY=USD, or use an empty database.'

  /** Starts an API on the database and stops it. */
  const start = async (
    database: Awaited<ReturnType<typeof createDatabase>>,
    directory: string,
    currency: string,
  ) => {
    await using gateway = await startGateway({ CURRENCY: currency }, { database, directory })
    return gateway.url
  }

  test('is fixed by the first start once there is any amount', async () => {
    await using first = await startGateway()
    const { database, directory } = first
    await createAccount(database.postgres)
    await expect(start(database, directory, 'EUR')).rejects.toThrow(new ConfigError(problem))
    await start(database, directory, 'USD')
  })

  test.each([
    ['a price', { name: 'setPrice', body: { model: 'vidB-2', unit: 'second', unit_micros: 1 } }],
    ['a plan', { name: 'createPlan', body: { name: 'a', cycle_quota_micros: 1, cycle_days: 1 } }],
    ['a spend cap', { name: 'createAccount', body: { name: 'a', spend_cap_micros: 1 } }],
  ] as const)('is settled by %s too', async (_, { name, body }) => {
    await using first = await startGateway()
    await (await createOperator(first)).call(name, { body })
    await expect(start(first.database, first.directory, 'EUR')).rejects.toThrow(new ConfigError(problem))
  })

  test('applies to the development account', async () => {
    await using database = await createDatabase()
    const keys = createDevelopmentKeys()
    const seed = (currency: string) =>
      seedDevelopment(
        loadSettings(['DATABASE_URL', 'LOG_LEVEL', 'KEY_HASH_SECRETS', 'CURRENCY'], {
          ...{ DATABASE_URL: database.url, LOG_LEVEL: 'silent', KEY_HASH_SECRETS: keySecret },
          CURRENCY: currency,
        }),
        keys,
      )
    await seed('USD')
    await seed('USD')
    await expect(seed('EUR')).rejects.toThrow(new ConfigError(problem))
  })

  test('can change while there is no amount', async () => {
    await using first = await startGateway()
    await createOperator(first)
    await start(first.database, first.directory, 'EUR')
    await createAccount(first.database.postgres)
    await expect(start(first.database, first.directory, 'USD')).rejects.toThrow(ConfigError)
  })

  test('is recorded once by processes that start together', async () => {
    await using first = await startGateway()
    const { database, directory } = first
    await createAccount(database.postgres)
    await database.postgres.query('update instance_settings set currency = null')
    const starts = await Promise.allSettled(
      ['CHF', 'SEK', 'CHF', 'SEK'].map((currency) => start(database, directory, currency)),
    )
    const { rows } = await database.postgres.query<{ currency: string }>(
      'select currency from instance_settings',
    )
    expect(rows).toHaveLength(1)
    const isChf = rows[0]?.currency === 'CHF'
    expect(starts.map(({ status }) => status)).toEqual(
      isChf
        ? ['fulfilled', 'rejected', 'fulfilled', 'rejected']
        : ['rejected', 'fulfilled', 'rejected', 'fulfilled'],
    )
  })
})
