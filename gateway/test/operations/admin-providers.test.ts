import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { deleteRemovedProviders } from '../../src/provider-config/provider-config-store.ts'
import { askJson, expectProblem } from '../kit/answers.ts'
import { createAccount, createKey, endTask } from '../kit/factories.ts'
import { createOperator, readAll, type Operator } from '../kit/operator.ts'
import { startGateway } from '../kit/start-gateway.ts'
import { startVendorGateway, type VendorGateway } from '../kit/vendor-gateway.ts'
import { withoutIntervals } from '../kit/without-intervals.ts'

const environment = { CREDENTIAL_SECRETS: 'secret-for-sealing-keys-of-providers' }

let gateway: VendorGateway
let operator: Operator

beforeAll(async () => {
  gateway = await withoutIntervals(() => startVendorGateway(environment))
  operator = await createOperator(gateway)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const acme = { kind: 'openai', base_url: 'https://acme.example/v1' }
const set = (id: string, body: object) => operator.call('setProvider', { id, body })
const refusal = (id: string, body: object) => operator.ask('setProvider', { id, body })
const messageOf = ({ body }: Awaited<ReturnType<typeof refusal>>) =>
  (body['error'] as { message: string }).message
const find = (id: string) => operator.call('getProvider', { id })
const route = (model: string, ...routes: object[]) =>
  operator.call('setModelRoutes', { id: model, body: { routes } })
const order = async (model = 'vidB-2') => {
  const accountId = await createAccount(gateway.database.postgres)
  const { text } = await createKey(gateway.database.postgres, accountId)
  const body = { model, prompt: 'A whale', seconds: 4, size: '480x480' }
  const answer = await askJson(`${gateway.url}/v1/videos`, text, body)
  expect(answer.body).not.toHaveProperty('error')
  return String(answer.body['id'])
}
const end = (id: string) =>
  endTask(gateway.database.postgres, id, { kind: 'failed', code: 'upstream_error', message: 'It broke.' })
const auditOf = async (target: string) =>
  (await operator.call('listAuditEntries', { query: { target } })).data as {
    action: string
    before: unknown
    after: unknown
  }[]

describe('a provider of the configuration file', () => {
  test('is listed with its models, health and load', async () => {
    const task = await order()
    expect(await find('vendor')).toEqual({
      name: 'vendor',
      object: 'provider',
      source: 'file',
      kind: 'openai',
      base_url: gateway.vendor.url,
      enabled: true,
      slots: 100,
      shards: 1,
      poll_interval_ms_min: 2_000,
      poll_interval_ms_max: 15_000,
      submit_timeout_ms: 60_000,
      poll_timeout_ms: 15_000,
      download_timeout_ms: 600_000,
      concurrency: 64,
      connections: 64,
      traceparent: false,
      result_origins: [],
      budget_per_day_micros: null,
      budget_alert_percent: 80,
      budget_stops: false,
      currency: 'USD',
      spend: null,
      settings: expect.objectContaining({ idempotent_submits: false, lookup: false }),
      credential_hint: '…ests',
      is_removed: false,
      problem: null,
      models: expect.arrayContaining([
        {
          model: 'vidB-2',
          upstream_model: 'vidB-2',
          order: 1,
          weight: 1,
          health: { state: 'healthy', reason: null, until: null },
        },
      ]),
      tasks_in_flight: 0,
      tasks_waiting: 1,
      duration_mismatches: 0,
      updated_at: null,
    })
    await end(task)
    expect(await find('vendor')).toMatchObject({ tasks_waiting: 0 })
  })

  test('cannot be deleted, and can be overridden and restored', async () => {
    const refused = await operator.ask('deleteProvider', { id: 'vendor' })
    expectProblem(refused, 'conflict')
    expect(messageOf(refused)).toContain('PROVIDERS_FILE')
    const body = { kind: 'openai', base_url: gateway.vendor.url, enabled: false }
    const disabled = await set('vendor', body)
    // It finishes its tasks, so it still needs the key from the file.
    expect(disabled).toMatchObject({ source: 'record', enabled: false, credential_hint: '…ests' })
    const deleted = await operator.call('deleteProvider', { id: 'vendor' })
    expect(deleted).toEqual({ name: 'vendor', deleted: true, is_of_file: true, open_tasks: 0 })
    expect(await find('vendor')).toMatchObject({ source: 'file', enabled: true, slots: 100 })
  })

  test('its key is never sent to another origin', async () => {
    const elsewhere = await refusal('vendor', { kind: 'openai', base_url: 'https://thief.example' })
    expectProblem(elsewhere, 'invalid_parameter', 'api_key')
    const without = await set('vendor', { ...acme, api_key: null })
    expect(without.credential_hint).toBeNull()
    await operator.call('deleteProvider', { id: 'vendor' })
  })
})

describe('setProvider', () => {
  test('takes effect at once in every gateway', async () => {
    await using second = await withoutIntervals(() => startGateway(environment, gateway))
    const there = await createOperator(second, operator)
    const made = await set('acme', {
      ...acme,
      api_key: 'sk-acme-0123456789',
      slots: 3,
      settings: { idempotent_submits: true },
    })
    expect(made).toMatchObject({
      name: 'acme',
      source: 'record',
      slots: 3,
      credential_hint: '…6789',
      settings: { idempotent_submits: true, lookup: false },
      models: [],
      updated_at: expect.closeTo(Date.now() / 1000, -1),
    })
    await route('vidB-2', { provider: 'acme', model: 'whale-1' })
    expect((await find('acme')).models).toMatchObject([{ model: 'vidB-2', upstream_model: 'whale-1' }])
    await expect
      .poll(async () => (await there.call('getProvider', { id: 'acme' })).models)
      .toMatchObject([{ model: 'vidB-2' }])
    await operator.call('deleteModelRoutes', { id: 'vidB-2' })
  })

  test('replaces the settings; an absent key stays, a given one replaces it, null removes it', async () => {
    await set('changing', { ...acme, api_key: 'sk-first-0123456789', slots: 3 })
    expect(await set('changing', acme)).toMatchObject({ slots: 100, credential_hint: '…6789' })
    expect(await set('changing', { ...acme, api_key: 'sk-second-abcdefgh' })).toMatchObject({
      credential_hint: '…efgh',
    })
    expect(await set('changing', { ...acme, api_key: null })).toMatchObject({ credential_hint: null })
    const entries = await auditOf('changing')
    expect(entries.map(({ action }) => action)).toEqual(Array(4).fill('setProvider'))
    expect(entries.at(-2)).toMatchObject({ before: { slots: 3 }, after: { slots: 100 } })
  })

  test('requires the key when the origin changes', async () => {
    await set('moving', { ...acme, api_key: 'sk-moving-0123456789' })
    const moved = { ...acme, base_url: 'https://elsewhere.example/v1' }
    expectProblem(await refusal('moving', moved), 'invalid_parameter', 'api_key')
    expect(await find('moving')).toMatchObject({ base_url: acme.base_url })
    await set('moving', { ...moved, api_key: 'sk-moving-0123456789' })
  })

  test('shows no hint of a short key; a key may be the JSON of a service account', async () => {
    expect(await set('short', { ...acme, api_key: 'abc' })).toMatchObject({ credential_hint: '…' })
    const account = JSON.stringify({ private_key: '-----BEGIN PRIVATE KEY-----\nabc\n' }, null, 2)
    expect(await set('short', { ...acme, api_key: account })).toMatchObject({
      credential_hint: `…${account.slice(-4)}`,
    })
  })

  test('explains invalid settings and how to fix them', async () => {
    const cases: [object, string, RegExp][] = [
      [{ kind: 'opnai' }, 'kind', /did you mean openai\?/],
      [{ base_url: 'acme' }, 'base_url', /https:\/\/api\.example\.com/],
      [{ base_url: 'https://me:word@acme.example' }, 'base_url', /must be a URL/],
      [{ slots: 0 }, 'slots', /whole number/],
      [{ slots: 10_000_000 }, 'slots', /from 1 to/],
      [{ poll_interval_ms_max: 5 }, 'poll_interval_ms_max', /must be at least poll_interval_ms_min/],
      [{ budget_stops: true }, 'budget_stops', /needs budget_per_day_micros/],
      [{ result_origins: ['nowhere'] }, 'result_origins[0]', /must be an origin/],
      [{ settings: { idempotent_submit: true } }, 'settings.idempotent_submit', /idempotent_submits\?/],
      [{ settings: { lookup: 'yes' } }, 'settings.lookup', /true or false/],
      [{ settings: { api_key: 'sk-hidden' } }, 'settings.api_key', /top-level field/],
      [{ settings: [] }, 'settings', /an object/],
      [{ api_key: 'two words' }, 'api_key', /text without spaces/],
      [{ api_key: 5 }, 'api_key', /must be text/],
      [{ api_key: 'x'.repeat(8_001) }, 'api_key', /at most 8000/],
    ]
    for (const [change, param, message] of cases) {
      const answer = await refusal('wrong', { ...acme, ...change })
      expectProblem(answer, 'invalid_parameter', param)
      expect(messageOf(answer)).toMatch(message)
    }
    expectProblem(await refusal('wrong', { base_url: acme.base_url }), 'missing_parameter', 'kind')
    expectProblem(await refusal('no spaces', acme), 'invalid_parameter', 'name')
    expectProblem(await operator.ask('getProvider', { id: 'wrong' }), 'resource_not_found')
  })

  test('without CREDENTIAL_SECRETS a key is rejected, and the error says what to set', async () => {
    await using bare = await startGateway({}, gateway)
    const there = await createOperator(bare, operator)
    const answer = await there.ask('setProvider', { id: 'bare', body: { ...acme, api_key: 'sk-acme-1' } })
    expectProblem(answer, 'conflict', 'api_key')
    expect(messageOf(answer)).toContain('CREDENTIAL_SECRETS')
    expect(await there.call('setProvider', { id: 'bare', body: acme })).toMatchObject({
      credential_hint: null,
    })
  })
})

describe('deleteProvider', () => {
  test('stops new tasks and lets the provider finish its open ones', async () => {
    await set('leaving', acme)
    await route('vidB-2', { provider: 'leaving' }, { provider: 'vendor', order: 2 })
    const task = await order()
    const refused = await operator.ask('deleteProvider', { id: 'leaving' })
    expectProblem(refused, 'conflict')
    expect(messageOf(refused)).toContain('vidB-2')
    await operator.call('deleteModelRoutes', { id: 'vidB-2' })
    expect(await operator.call('deleteProvider', { id: 'leaving' })).toMatchObject({ open_tasks: 1 })
    expect(await find('leaving')).toMatchObject({ is_removed: true, enabled: false, tasks_waiting: 1 })
    expectProblem(await operator.ask('deleteProvider', { id: 'leaving' }), 'resource_not_found')
    const body = { routes: [{ provider: 'leaving' }] }
    const routed = await operator.ask('setModelRoutes', { id: 'vidB-2', body })
    expectProblem(routed, 'invalid_parameter', 'routes[0].provider')
    const { postgres } = gateway.database
    await postgres.query(
      `update provider_configs set removed_at = now() - interval '1 hour' where name = 'leaving'`,
    )
    const isKept = async () =>
      (await postgres.query(`select from provider_configs where name = 'leaving'`)).rowCount === 1
    await deleteRemovedProviders(postgres)
    expect(await isKept()).toBe(true)
    await end(task)
    expectProblem(await operator.ask('getProvider', { id: 'leaving' }), 'resource_not_found')
    await deleteRemovedProviders(postgres)
    expect(await isKept()).toBe(false)
    expect((await auditOf('leaving'))[0]).toMatchObject({
      action: 'deleteProvider',
      before: { name: 'leaving' },
    })
  })

  test('404 for an unknown provider', async () => {
    expectProblem(await operator.ask('deleteProvider', { id: 'nobody' }), 'resource_not_found')
  })
})

test('a stored configuration that is no longer valid is shown with its problem and affects no other provider', async () => {
  const { postgres } = gateway.database
  await set('older', acme)
  await route('vidA3.1', { provider: 'older' }, { provider: 'vendor' })
  const change = `update provider_configs set settings = settings || '{"kind": "gone"}' where name = 'older'`
  await postgres.query(change)
  expect(await find('older')).toMatchObject({
    kind: 'gone',
    base_url: acme.base_url,
    enabled: false,
    problem: expect.stringMatching(/'kind' must be one of .*"gone"/),
  })
  expect(await operator.call('getModelRoutes', { id: 'vidA3.1' })).toMatchObject({
    source: 'record',
    problem: expect.stringContaining('There is no provider named older'),
    routes: [{ provider: 'vendor' }],
  })
  expect(await set('older', acme)).toMatchObject({ enabled: true, problem: null })
  await operator.call('deleteModelRoutes', { id: 'vidA3.1' })
})

test('listProviders returns each provider once, sorted by name', async () => {
  const names = (await readAll(operator, 'listProviders')).map(({ name }) => name as string)
  expect(names).toEqual([...new Set(names)].toSorted())
  expect(names).toEqual(expect.arrayContaining(['acme', 'vendor']))
  const answer = await operator.ask('listProviders', { query: { cursor: 'x' } })
  expectProblem(answer, 'invalid_parameter', 'cursor')
})

test('resetProviderHealth closes the breakers of a provider', async () => {
  const { postgres } = gateway.database
  await postgres.query(
    `insert into route_health (provider, model, open_until, reason)
     values ('vendor', 'vidB-2', now() + interval '1 minute', '5 failures in a row')`,
  )
  await postgres.notify('route_health', '')
  const healthOf = async () =>
    (await find('vendor')).models.find(({ model }: { model: string }) => model === 'vidB-2').health
  await expect.poll(healthOf).toEqual({
    state: 'unhealthy',
    reason: expect.stringContaining('5 failures in a row'),
    until: expect.closeTo(Date.now() / 1000 + 60, -1),
  })
  const forgotten = await operator.call('resetProviderHealth', { id: 'vendor' })
  expect(forgotten).toEqual({ name: 'vendor', object: 'provider.health', forgotten: ['vidB-2'] })
  await expect.poll(healthOf).toMatchObject({ state: 'healthy' })
  expectProblem(await operator.ask('resetProviderHealth', { id: 'nobody' }), 'resource_not_found')
})

describe('routes of a model', () => {
  const routesOf = (id: string) => operator.call('getModelRoutes', { id })

  test('are the defaults until they are set and after they are deleted', async () => {
    const usual = await routesOf('vidB-2-pro')
    expect(usual).toMatchObject({
      model: 'vidB-2-pro',
      source: 'default',
      problem: null,
      routes: [{ provider: 'vendor', model: 'vidB-2-pro', seconds: null, sizes: null, slots: 100 }],
    })
    await set('second', acme)
    const given = [
      {
        provider: 'second',
        model: 'whale-1',
        order: 2,
        weight: 3,
        seconds: [4, 8],
        sizes: ['480x480'],
        slots: 5,
      },
      { provider: 'vendor' },
    ]
    const body = await route('vidB-2-pro', ...given)
    expect(body).toMatchObject({
      source: 'record',
      routes: [{ provider: 'vendor', order: 1, weight: 1, model: 'vidB-2-pro' }, given[0]],
    })
    expect(await routesOf('vidB-2-pro')).toEqual(body)
    expect(await operator.call('deleteModelRoutes', { id: 'vidB-2-pro' })).toEqual(usual)
    expect((await auditOf('vidB-2-pro')).map(({ action }) => action)).toEqual([
      'deleteModelRoutes',
      'setModelRoutes',
    ])
  })

  test('are validated', async () => {
    const refused = (...routes: object[]) =>
      operator.ask('setModelRoutes', { id: 'vidB-2', body: { routes } })
    expectProblem(await refused(), 'invalid_parameter', 'routes')
    expectProblem(await refused({ provider: 'vendr' }), 'invalid_parameter', 'routes[0].provider')
    expectProblem(await refused({ model: 'whale-1' }), 'missing_parameter', 'routes[0].provider')
    expectProblem(await refused({ provider: 'vendor', order: 0 }), 'invalid_parameter', 'routes[0].order')
    const size = await refused({ provider: 'vendor', sizes: ['large'] })
    expectProblem(size, 'invalid_parameter', 'routes[0].sizes[0]')
    const unmade = await refused({ provider: 'vendor', sizes: ['720x1280', '1280x720', '480x480'] })
    expectProblem(unmade, 'invalid_parameter', 'routes')
    expect(unmade.body).toMatchObject({
      error: { message: expect.stringMatching(/vidB-2 'sizes\[3\]' is 1080x1080, which no route makes/) },
    })
    expectProblem(await operator.ask('getModelRoutes', { id: 'vidZ' }), 'model_not_found', 'model')
    expect(await routesOf('vidB-2')).toMatchObject({ source: 'default' })
  })
})
