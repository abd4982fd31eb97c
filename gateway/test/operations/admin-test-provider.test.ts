/** Every kind of provider, and every reason why one cannot be used, with real connections. */
import type { IncomingMessage, ServerResponse } from 'node:http'

import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import { protocols } from '../../src/providers/registry.ts'
import { expectProblem } from '../kit/answers.ts'
import { listenForTest } from '../kit/listen-for-test.ts'
import { createOperator, type Operator } from '../kit/operator.ts'
import { startGateway } from '../kit/start-gateway.ts'
import { startVendorGateway, vendorKey, type VendorGateway } from '../kit/vendor-gateway.ts'
import { withoutIntervals } from '../kit/without-intervals.ts'

const environment = { CREDENTIAL_SECRETS: 'secret-for-sealing-keys-of-providers' }

let gateway: VendorGateway
let operator: Operator

beforeAll(async () => {
  gateway = await withoutIntervals(() => startVendorGateway(environment))
  operator = await createOperator(gateway)
})
afterAll(() => gateway[Symbol.asyncDispose]())

interface Result {
  steps: { name: string; result: string; message: string; repair: string | null }[]
  ok: boolean
  key_verified: boolean
  status: number | null
  message: string
}

let providers = 0
const testOf = async (body: object): Promise<Result & { name: string }> => {
  const id = `tested-${(providers += 1)}`
  await operator.call('setProvider', { id, body: { api_key: vendorKey, ...body } })
  const result = await operator.call('testProvider', { id })
  expect(result).toMatchObject({ object: 'provider.test', provider: id })
  expect(result.duration_ms).toBeGreaterThanOrEqual(0)
  expect(JSON.stringify(result)).not.toContain(vendorKey)
  return { ...result, name: id }
}
const jobs = () => gateway.vendor.counts().submits

type Listener = (request: IncomingMessage, response: ServerResponse) => void
const testAgainst = async (listener: Listener, body: object = {}) => {
  await using server = await listenForTest(listener)
  return {
    ...(await testOf({ kind: 'openai', base_url: server.url, ...body })),
    host: new URL(server.url).host,
  }
}
const answering =
  (status: number, body: string, headers: Record<string, string> = {}): Listener =>
  (_request, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
  }

describe('success', () => {
  const enterprise = { api: 'enterprise', project: 'films', location: 'europe-west4' }
  const kinds: { kind: string; status: number; path?: string; settings?: object; isKeyless?: boolean }[] = [
    { kind: 'openai', status: 200 },
    { kind: 'openai', status: 200, path: '/v1' },
    { kind: 'kinora', status: 200 },
    { kind: 'gemini', status: 200 },
    { kind: 'gemini', status: 200, settings: enterprise },
    { kind: 'fal', status: 404 },
    { kind: 'replicate', status: 200, path: '/v1' },
    {
      ...{ kind: 'ai-sdk', status: 401, path: '/ai-sdk/v1', isKeyless: true },
      settings: { package: '@ai-sdk/replicate' },
    },
  ]

  test.each(kinds)(
    'of the kind $kind $path $settings',
    async ({ kind, status, path = '', settings, isKeyless }) => {
      const before = jobs()
      const body = { kind, base_url: `${gateway.vendor.url}${path}`, ...(settings && { settings }) }
      const result = await testOf(body)
      const { host } = new URL(gateway.vendor.url)
      expect(result).toMatchObject({
        ok: true,
        status,
        key_verified: isKeyless !== true,
        message:
          isKeyless === true
            ? expect.stringContaining('no call that verifies a key')
            : `${host} accepted the key.`,
      })
      expect(jobs()).toBe(before)
    },
  )

  test('of the built-in provider, which has no key', async () => {
    const result = await testAgainst(answering(200, '{}'), { kind: 'local', api_key: null })
    expect(result).toMatchObject({ ok: true, key_verified: false, status: 200 })
    expect(result.message).toContain('no key')
  })

  test('every kind of provider was tested', () => {
    expect(new Set(['local', ...kinds.map(({ kind }) => kind)])).toEqual(new Set(Object.keys(protocols)))
  })

  test('a disabled provider is called as well', async () => {
    const body = { kind: 'openai', base_url: gateway.vendor.url, enabled: false }
    expect(await testOf(body)).toMatchObject({ ok: true, key_verified: true })
  })

  test('a service that answers without a key does not verify it', async () => {
    const result = await testAgainst(answering(200, '{"data": []}'))
    expect(result).toMatchObject({ ok: true, key_verified: false, status: 200 })
    expect(result.message).toContain('did not refuse the same call without a key')
  })
})

describe('failure', () => {
  const closedUrl = async () => {
    const server = await listenForTest(() => {})
    await server[Symbol.asyncDispose]()
    return server.url
  }

  test('of the host name', async () => {
    const result = await testOf({ kind: 'openai', base_url: 'http://nobody.invalid/v1' })
    expect(result).toMatchObject({ ok: false, status: null })
    expect(result.message).toMatch(/^nobody\.invalid could not be resolved \(E\w+\): check base_url /)
  })

  test('of the connection', async () => {
    const url = await closedUrl()
    const result = await testOf({ kind: 'replicate', base_url: url })
    expect(result).toMatchObject({ ok: false, status: null })
    expect(result.message).toContain(`${new URL(url).host} refused the connection: check base_url`)
    expect(result.steps.map((step) => step.result)).toEqual(['passed', 'failed', 'skipped'])
    expect(result.steps[1]?.repair).toMatch(/^Check base_url /)
  })

  test('of TLS', async () => {
    await using server = await listenForTest(() => {})
    const result = await testOf({ kind: 'openai', base_url: server.url.replace('http:', 'https:') })
    expect(result).toMatchObject({ ok: false, status: null })
    expect(result.message).toContain('does not speak TLS')
  })

  test('in time', async () => {
    const result = await testAgainst(() => {}, { poll_timeout_ms: 100 })
    expect(result).toMatchObject({ ok: false, status: null })
    expect(result.message).toBe(
      `${result.host} did not answer in time: check base_url (baseUrl in PROVIDERS_FILE), the firewall of this machine, and poll_timeout_ms.`,
    )
  })

  test('by a cut connection', async () => {
    const result = await testAgainst((request) => void request.socket.destroy())
    expect(result).toMatchObject({ ok: false, status: null })
    expect(result.message).toContain('closed the connection without an answer')
  })

  const errorBody = '{"error": {"code": "x", "message": "vendor-key-of-tests at https://inside.example"}}'
  test.each([
    [
      401,
      errorBody,
      /^The provider refused the key \(401\): set a valid one with api_key of PUT \S+tested-\d+, or/,
    ],
    [403, errorBody, /^The provider refused the key \(403\): set/],
    [403, '<h1>Firewall</h1>', /^The provider denied access \(403\): set/],
    [402, errorBody, /asks for payment \(402\): top up/],
    [404, errorBody, /has no GET \/v1\/models \(404\): check base_url/],
    [429, errorBody, /limits the rate \(429\).*try again in 7 s/],
    [500, errorBody, /problem of its own \(500\)/],
    [503, '', /problem of its own \(503\)/],
    [301, '', /redirects the call \(301\): set base_url/],
    [418, errorBody, /refused the call \(418\)/],
    [200, '<!doctype html>', /answered 200, but not with the JSON/],
    [200, '', /answered 200, but not with the JSON/],
  ])('status %i with %s', async (status, body, message) => {
    const result = await testAgainst(answering(status, body, { 'retry-after': '7' }))
    expect(result).toMatchObject({ ok: false, key_verified: false, status })
    expect(result.message).toMatch(message)
    expect(result.message).not.toContain('inside.example')
    expect(result.steps.filter((step) => step.result === 'failed')).toHaveLength(1)
  })

  test.each(['openai', 'kinora', 'fal', 'replicate', 'gemini'])(
    'a wrong key of the kind %s',
    async (kind) => {
      const result = await testOf({ kind, base_url: gateway.vendor.url, api_key: 'a-wrong-key-of-tests' })
      expect(result).toMatchObject({ ok: false, key_verified: false, status: 401 })
      expect(result.message).toContain('refused the key')
      expect(result.message).not.toContain('a-wrong-key-of-tests')
      expect(result.steps).toMatchObject([
        { name: 'configuration', result: 'passed', repair: null },
        { name: 'address', result: 'passed', repair: null },
        { name: 'key', result: 'failed', repair: expect.stringMatching(/^Set a valid one with api_key /) },
      ])
    },
  )

  test('a wrong path of the kind fal', async () => {
    const result = await testAgainst(answering(404, '<h1>Not found</h1>'), { kind: 'fal' })
    expect(result).toMatchObject({ ok: false, status: 404 })
  })

  test('before any call: a missing package, a service account that is none, a missing project', async () => {
    const settings = (own: object) => ({ base_url: gateway.vendor.url, settings: own })
    const missing = await testOf({ kind: 'ai-sdk', ...settings({ package: '@ai-sdk/not-installed' }) })
    expect(missing).toMatchObject({ ok: false, status: null })
    expect(missing.message).toContain('npm install @ai-sdk/not-installed')
    expect(missing.steps.map(({ result }) => result)).toEqual(['failed', 'skipped', 'skipped'])
    const enterprise = { kind: 'gemini', ...settings({ api: 'enterprise', project: 'films' }) }
    const account = await testOf({ ...enterprise, api_key: '{"private_key": "hidden-part"}' })
    expect(account).toMatchObject({ ok: false, status: null })
    expect(account.message).toContain('client_email')
    expect(account.message).not.toContain('hidden-part')
    const project = await testOf({ kind: 'gemini', ...settings({ api: 'enterprise' }) })
    expect(project.message).toContain('set project for this provider')
  })
})

test('an unreadable key is reported without a call', async () => {
  const { name } = await testOf({ kind: 'openai', base_url: gateway.vendor.url })
  await using other = await withoutIntervals(() =>
    startGateway({ CREDENTIAL_SECRETS: 'some-other-secret-of-32-characters' }, gateway),
  )
  const there = await createOperator(other, operator)
  const before = gateway.vendor.counts()
  const result = await there.call('testProvider', { id: name })
  expect(result).toMatchObject({
    ok: false,
    status: null,
    message: expect.stringContaining('CREDENTIAL_SECRETS'),
  })
  expect(gateway.vendor.counts()).toEqual(before)
})

describe('health', () => {
  /** Opens the breaker of a model for an hour, as if a call had failed. */
  const accuse = async (isUnauthorized: boolean) => {
    const { postgres } = gateway.database
    const reason = isUnauthorized ? 'credential refused' : '5 failures in a row (not delivered)'
    await postgres.query(
      `insert into route_health (provider, model, open_until, openings, reason, is_unauthorized)
       values ('vendor', 'vidB-2', now() + interval '1 hour', 1, $1, $2)`,
      [reason, isUnauthorized],
    )
    await postgres.notify('route_health', '')
    await expect.poll(async () => (await view()).health).toMatchObject({ state: 'unhealthy' })
  }
  const view = async () => {
    const { models, problem } = await operator.call('getProvider', { id: 'vendor' })
    return { problem, health: models.find(({ model }: { model: string }) => model === 'vidB-2').health }
  }
  const healthy = { state: 'healthy', reason: null, until: null }
  const forget = async () => {
    await operator.call('resetProviderHealth', { id: 'vendor' })
    // The process learns of it by a notification.
    await expect.poll(view).toEqual({ problem: null, health: healthy })
  }

  test('a verified key clears the accusation, and the provider is healthy', async () => {
    await accuse(true)
    expect((await view()).problem).toContain('refuses its API key')
    expect(await operator.call('testProvider', { id: 'vendor' })).toMatchObject({ key_verified: true })
    await expect.poll(view).toEqual({ problem: null, health: healthy })
    const { data } = await operator.call('listAuditEntries', {
      query: { target: 'vendor', action: 'testProvider' },
    })
    expect(data[0]).toMatchObject({ before: { unhealthy_models: ['vidB-2'] }, after: { ok: true } })
  })

  test('after another failure the next job may try the provider at once', async () => {
    await accuse(false)
    await operator.call('testProvider', { id: 'vendor' })
    const health = { state: 'unhealthy', reason: expect.stringMatching(/^to be tried again after/) }
    await expect.poll(view).toMatchObject({ problem: null, health })
    await forget()
  })

  test('a failed test changes nothing', async () => {
    await accuse(true)
    gateway.vendor.faults.down = true
    expect(await operator.call('testProvider', { id: 'vendor' })).toMatchObject({ ok: false })
    gateway.vendor.faults.down = false
    expect((await view()).problem).toContain('refuses its API key')
    await forget()
  })
})

test('is written to the audit log, and of a healthy provider changes neither health nor configuration', async () => {
  const before = await operator.call('getProvider', { id: 'vendor' })
  await operator.call('testProvider', { id: 'vendor' })
  const { name } = await testAgainst(answering(401, '{"error": {"code": "invalid_api_key"}}'))
  const { rows } = await gateway.database.postgres.query('select * from route_health')
  expect(rows).toEqual([])
  expect(await operator.call('getProvider', { id: 'vendor' })).toEqual(before)
  const { data } = await operator.call('listAuditEntries', {
    query: { target: name, action: 'testProvider' },
  })
  expect(data).toMatchObject([{ after: { ok: false, key_verified: false, status: 401 } }])
})

test('an unknown provider is not found', async () => {
  expectProblem(await operator.ask('testProvider', { id: 'nobody' }), 'resource_not_found')
})

describe('a link-local address', () => {
  test.each([
    'http://169.254.169.254',
    'http://2852039166/v1',
    'http://[fe80::1]',
    'http://[::ffff:a9fe:a9fe]',
  ])('%s is not called', async (url) => {
    const result = await testOf({ kind: 'openai', base_url: url })
    expect(result).toMatchObject({ ok: false, status: null })
    expect(result.message).toContain('is a link-local address')
    expect(result.message).toContain('PROVIDERS_ALLOW_LINK_LOCAL')
  })
})
