/** Properties of every operation that takes a key, generated from the table of operations. */
import type { ErrorCode } from '@kinora/contract/errors'
import { keyScopes } from '@kinora/contract/key-scope'
import type { Operation } from '@kinora/contract/operation'
import { operations } from '@kinora/contract/operations'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'

import { deleteKey } from '../../src/auth/key-store.ts'
import { createKeyText } from '../../src/auth/key-text.ts'
import { ask, expectProblem, type Answer } from '../kit/answers.ts'
import { createAccount, createKey, keySecret, type TestKey } from '../kit/factories.ts'
import { startGateway, startProxy, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway
let accountId: string
let key: TestKey

beforeAll(async () => {
  gateway = await startGateway({ TRUSTED_PROXIES: '127.0.0.1, 10.9.0.0/16' })
  accountId = await createAccount(gateway.database.postgres)
  key = await createKey(gateway.database.postgres, accountId)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const keyOperations: [string, Operation][] = Object.values(operations)
  .filter(({ access }) => access === 'key')
  .map((operation) => [operation.id, operation])

/** Calls an operation with only these headers and an invalid body. */
const call = (operation: Operation, headers: Record<string, string>, url = gateway.url): Promise<Answer> =>
  ask(`${url}${operation.path.replace(/\{\w+\}/g, 'nonsense')}`, undefined, {
    method: operation.method,
    headers,
    ...(operation.body !== undefined && { body: 'nonsense' }),
  })

const bearer = (text: string) => ({ authorization: `Bearer ${text}` })
const mistyped = (text: string) => text.slice(0, -1) + (text.endsWith('0') ? '1' : '0')

const expectUnauthorized = (answer: Answer, code: ErrorCode) => {
  expectProblem(answer, code)
  expect(answer.headers.get('www-authenticate')).toBe('Bearer')
}

/** What came of the caller: the refusal's code, or 'admitted' for anything that only the operation itself answers. */
const verdict = async (headers: Record<string, string>, url = gateway.url): Promise<string> => {
  const { status, body } = await call(operations.listModels, headers, url)
  return status === 200 ? 'admitted' : (body['error'] as { code: string }).code
}

describe.each(keyOperations)('%s', (_, operation) => {
  test('401 missing_api_key without a key', async () => {
    for (const headers of [
      {},
      { authorization: '' },
      { authorization: 'Bearer' },
      { authorization: 'bearer  ' },
      { 'x-api-key': '' },
    ]) {
      expectUnauthorized(await call(operation, headers), 'missing_api_key')
    }
  })

  test('401 invalid_api_key for a key that is unknown, mistyped, deleted, or not a bearer', async () => {
    const { postgres } = gateway.database
    const deleted = await createKey(postgres, accountId)
    await deleteKey(postgres, deleted.id)
    for (const headers of [
      bearer(createKeyText('payg')),
      bearer(mistyped(key.text)),
      bearer('sk-'),
      bearer(key.text.toUpperCase()),
      bearer(`${key.text} ${key.text}`),
      bearer('x'.repeat(5_000)),
      bearer(deleted.text),
      { authorization: key.text },
      { authorization: `Basic ${key.text}` },
      { 'x-api-key': mistyped(key.text) },
    ]) {
      expectUnauthorized(await call(operation, headers), 'invalid_api_key')
    }
  })

  test('401 expired_api_key for an expired key', async () => {
    const { text } = await createKey(gateway.database.postgres, accountId, {
      expiresAt: new Date(Date.now() - 1),
    })
    expectUnauthorized(await call(operation, bearer(text)), 'expired_api_key')
  })

  test('403 ip_not_allowed from an address that is not on the list', async () => {
    const { text } = await createKey(gateway.database.postgres, accountId, { addresses: ['192.0.2.1'] })
    expectProblem(await call(operation, bearer(text)), 'ip_not_allowed')
  })

  test("403 access_denied for a disabled key and for an operator's key", async () => {
    const { postgres } = gateway.database
    const disabled = await createKey(postgres, accountId)
    await postgres.query('update keys set disabled_at = now() where id = $1', [disabled.id])
    expectProblem(await call(operation, bearer(disabled.text)), 'access_denied')
    const admin = await createKey(postgres, accountId, { kind: 'admin' })
    expectProblem(await call(operation, bearer(admin.text)), 'access_denied')
  })

  test('403 account_suspended', async () => {
    const { postgres } = gateway.database
    const account = await createAccount(postgres)
    await postgres.query(`update accounts set status = 'suspended' where id = $1`, [account])
    const { text } = await createKey(postgres, account)
    expectProblem(await call(operation, bearer(text)), 'account_suspended')
  })

  test('429 rate_limit_exceeded', async () => {
    const { text } = await createKey(gateway.database.postgres, accountId, {
      requestsPerMinute: 1,
      scopes: [...keyScopes],
    })
    await call(operation, bearer(text))
    expectProblem(await call(operation, bearer(text)), 'rate_limit_exceeded')
  })
})

describe('the key', () => {
  test('is read after the scheme in any case, and from x-api-key', async () => {
    for (const headers of [
      bearer(key.text),
      { authorization: `bearer ${key.text}` },
      { authorization: `BEARER   ${key.text} ` },
      { 'x-api-key': key.text },
    ]) {
      expect(await verdict(headers)).toBe('admitted')
    }
  })

  test('in Authorization takes precedence over the one in x-api-key', async () => {
    expect(await verdict({ ...bearer(key.text), 'x-api-key': 'nonsense' })).toBe('admitted')
    expect(await verdict({ ...bearer(createKeyText('payg')), 'x-api-key': key.text })).toBe('invalid_api_key')
  })

  test('hashed with an older secret is valid only while that secret is listed', async () => {
    const newer = 'a newer secret for hashing keys in tests'
    await using both = await startGateway({ KEY_HASH_SECRETS: `${newer},${keySecret}` }, gateway)
    const fresh = await createKey(gateway.database.postgres, accountId, { secret: newer })
    expect(await verdict(bearer(key.text), both.url)).toBe('admitted')
    expect(await verdict(bearer(fresh.text), both.url)).toBe('admitted')
    await using onlyNewer = await startGateway({ KEY_HASH_SECRETS: newer }, gateway)
    expect(await verdict(bearer(key.text), onlyNewer.url)).toBe('invalid_api_key')
    expect(await verdict(bearer(fresh.text), onlyNewer.url)).toBe('admitted')
  })

  test('is stored only as a keyed hash', async () => {
    const { rows } = await gateway.database.postgres.query<{ row: string }>(
      'select keys::text as row from keys',
    )
    const stored = rows.map(({ row }) => row).join('\n')
    expect(stored).not.toContain(key.text)
    expect(stored).not.toContain(key.text.slice(3, 20))
  })

  test('with a typing error never reaches the database', async () => {
    await using proxy = await startProxy(gateway.database.url)
    await using behind = await startGateway({ DATABASE_URL: proxy.url }, gateway)
    const before = proxy.sentBytes()
    for (const text of [mistyped(key.text), 'sk-nonsense', '']) {
      await call(operations.listModels, bearer(text), behind.url)
    }
    expect(proxy.sentBytes()).toBe(before)
    expect(await verdict(bearer(createKeyText('payg')), behind.url)).toBe('invalid_api_key')
    expect(proxy.sentBytes()).toBeGreaterThan(before)
    // And with no database at all it is still told apart from one that would have to be looked up.
    await proxy.cut()
    expect(await verdict(bearer(mistyped(key.text)), behind.url)).toBe('invalid_api_key')
    expect(await verdict(bearer(createKeyText('payg')), behind.url)).toBe('service_unavailable')
  })
})

describe('the address', () => {
  const keyFrom = async (...addresses: string[]) =>
    createKey(gateway.database.postgres, accountId, { addresses })
  const verdictFrom = async (text: string, forwarded: string, url?: string) =>
    verdict({ ...bearer(text), 'x-forwarded-for': forwarded }, url)

  test('is matched as an address, as a range and as IPv4 inside IPv6', async () => {
    const { text } = await keyFrom('203.0.113.7', '198.51.100.0/24', '2001:db8::/32', '::ffff:192.0.2.9')
    for (const address of [
      '203.0.113.7',
      '::ffff:203.0.113.7',
      '198.51.100.200',
      '::ffff:c633:6401',
      '2001:db8:1::5',
      '192.0.2.9',
    ]) {
      expect(await verdictFrom(text, address)).toBe('admitted')
    }
    for (const address of ['203.0.113.8', '198.51.101.1', '2001:db9::1', '::ffff:203.0.113.8', '::1']) {
      expect(await verdictFrom(text, address)).toBe('ip_not_allowed')
    }
  })

  test('is the rightmost one that is not a trusted proxy', async () => {
    const { text } = await keyFrom('203.0.113.7')
    expect(await verdictFrom(text, '203.0.113.7')).toBe('admitted')
    expect(await verdictFrom(text, '203.0.113.7, 10.9.1.1')).toBe('admitted')
    expect(await verdictFrom(text, '198.51.100.1, 203.0.113.7, 10.9.1.1, 10.9.2.2')).toBe('admitted')
    // Entries further left come from the client and can be forged.
    expect(await verdictFrom(text, '203.0.113.7, 198.51.100.1')).toBe('ip_not_allowed')
    expect(await verdictFrom(text, '203.0.113.7, 198.51.100.1, 10.9.1.1')).toBe('ip_not_allowed')
  })

  test('that cannot be parsed is never allowed', async () => {
    const { text } = await keyFrom('0.0.0.0/0', '::/0')
    expect(await verdictFrom(text, '203.0.113.7')).toBe('admitted')
    for (const address of ['unknown', '203.0.113.7:1234', '_hidden', '999.1.1.1']) {
      expect(await verdictFrom(text, address)).toBe('ip_not_allowed')
    }
  })

  test('in X-Forwarded-For is ignored unless a trusted proxy sent it', async () => {
    await using open = await startGateway({ TRUSTED_PROXIES: '' }, gateway)
    const { text } = await keyFrom('203.0.113.7')
    expect(await verdictFrom(text, '203.0.113.7', open.url)).toBe('ip_not_allowed')
    const local = await keyFrom('127.0.0.0/8')
    expect(await verdictFrom(local.text, '203.0.113.7', open.url)).toBe('admitted')
  })

  test('in X-Forwarded-For: readiness says whether it counts, to whoever asks through a proxy', async () => {
    const readyThrough = async (url: string, headers: Record<string, string>) =>
      (await ask(`${url}/readyz`, undefined, { headers })).body['forwarded_for']
    const forwarded = { 'x-forwarded-for': '203.0.113.7' }
    await using open = await startGateway({ TRUSTED_PROXIES: '10.9.0.0/16' }, gateway)
    expect(await readyThrough(open.url, forwarded)).toBe('ignored')
    expect(await readyThrough(open.url, {})).toBeUndefined()
    expect(await readyThrough(gateway.url, forwarded)).toBe('trusted')
  })

  test('never matches an empty or invalid list', async () => {
    expect(await verdictFrom((await keyFrom()).text, '203.0.113.7')).toBe('ip_not_allowed')
    expect(await verdictFrom((await keyFrom('anywhere')).text, '203.0.113.7')).toBe('ip_not_allowed')
  })
})

test('the checks come in order: key, expiry, address, key and account state, rate, body', async () => {
  const { postgres } = gateway.database
  const account = await createAccount(postgres)
  const { id, text } = await createKey(postgres, account, {
    expiresAt: new Date(Date.now() - 1),
    addresses: ['192.0.2.1'],
    limits: { create: 1 },
  })
  await postgres.query(`update accounts set status = 'suspended' where id = $1`, [account])
  const codeNow = async () =>
    (await call(operations.createVideo, bearer(text))).body['error'] as { code: string }
  const becomes = (code: string) => expect.poll(async () => (await codeNow()).code).toBe(code)

  expectUnauthorized(await call(operations.createVideo, bearer(mistyped(text))), 'invalid_api_key')
  await becomes('expired_api_key')
  await postgres.query('update keys set expires_at = null where id = $1', [id])
  await becomes('ip_not_allowed')
  await postgres.query('update keys set addresses = null where id = $1', [id])
  await becomes('account_suspended')
  await postgres.query(`update accounts set status = 'active' where id = $1`, [account])
  // Nothing refused so far has been counted: the first request that is admitted is read, and only then counted.
  await becomes('invalid_request')
  await becomes('rate_limit_exceeded')
})

describe('a change is notified to every gateway, although keys are cached', () => {
  let second: TestGateway
  beforeAll(async () => {
    second = await startGateway(
      { KEY_HASH_SECRETS: `a newer secret for hashing keys in tests,${keySecret}` },
      gateway,
    )
  })
  afterAll(() => second[Symbol.asyncDispose]())
  // The cache does not expire here, so only a notification can change it.
  beforeEach(() => {
    vi.spyOn(Date, 'now').mockReturnValue(Date.now())
  })
  afterEach(() => {
    vi.restoreAllMocks()
  })

  const becomesEverywhere = async (text: string, expected: string) => {
    const urls = [gateway.url, second.url]
    await Promise.all(
      urls.map((url) => expect.poll(() => verdict(bearer(text), url), { interval: 50 }).toBe(expected)),
    )
  }

  test.each<[string, string, string]>([
    ['a deleted key', 'update keys set deleted_at = now() where id = $1', 'invalid_api_key'],
    ['a key removed outright', 'delete from keys where id = $1', 'invalid_api_key'],
    ['a disabled key', 'update keys set disabled_at = now() where id = $1', 'access_denied'],
    [
      'an expiry that was moved',
      `update keys set expires_at = now() - interval '1 second' where id = $1`,
      'expired_api_key',
    ],
    ['an address list', `update keys set addresses = '{192.0.2.1}' where id = $1`, 'ip_not_allowed'],
    [
      'a suspended account',
      `update accounts set status = 'suspended' where id = (select account_id from keys where id = $1)`,
      'account_suspended',
    ],
  ])('%s', async (_, change, expected) => {
    const { postgres } = gateway.database
    const { id, text } = await createKey(postgres, await createAccount(postgres))
    await becomesEverywhere(text, 'admitted')
    await postgres.query(change, [id])
    await becomesEverywhere(text, expected)
  })

  test('a deleted key, also where it was hashed with an older secret', async () => {
    const { postgres } = gateway.database
    const { id, text } = await createKey(postgres, accountId)
    await becomesEverywhere(text, 'admitted')
    await deleteKey(postgres, id)
    await becomesEverywhere(text, 'invalid_api_key')
  })

  test('a key that expires while it is cached', async () => {
    const { postgres } = gateway.database
    const { text } = await createKey(postgres, accountId, { expiresAt: new Date(Date.now() + 3_000) })
    expect(await verdict(bearer(text))).toBe('admitted')
    vi.spyOn(Date, 'now').mockReturnValue(Date.now() + 3_001)
    await becomesEverywhere(text, 'expired_api_key')
  })

  test('a deleted key, when the notifications are interrupted', async () => {
    const { postgres } = gateway.database
    const { id, text } = await createKey(postgres, accountId)
    await becomesEverywhere(text, 'admitted')
    await postgres.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
        where application_name like 'kinora%, listening' and datname = current_database()`,
    )
    await deleteKey(postgres, id)
    await becomesEverywhere(text, 'invalid_api_key')
  })
})

// Listed by hand, so that no endpoint of the reference can lose its path or its key unnoticed.
describe('the endpoints of the reference', () => {
  test.each([
    ['POST', '/v1/video/create'],
    ['GET', '/v1/video/query'],
    ['POST', '/v1/videos'],
    ['GET', '/v1/videos/nonsense'],
    ['GET', '/v1/videos/nonsense/content'],
    ['POST', '/v1/videos/nonsense/remix'],
    ['POST', '/vidB/v1/characters'],
    ['POST', '/v1/chat/completions'],
    ['POST', '/v1/audio/transcriptions'],
    ['POST', '/v1/audio/translations'],
    ['POST', '/v1/audio/speech'],
    ['GET', '/v1/models'],
  ])('%s %s requires a key and accepts it as a bearer token', async (method, path) => {
    expectUnauthorized(await ask(`${gateway.url}${path}`, undefined, { method }), 'missing_api_key')
    const { status, body } = await ask(`${gateway.url}${path}`, key.text, { method })
    expect([200, 400, 404]).toContain(status)
    expect(body).not.toMatchObject({ error: { code: 'endpoint_not_found' } })
  })
})
