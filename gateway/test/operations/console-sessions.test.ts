/** Signing in to the console: what a session stands for, who may use its cookie, and what cannot be forged. */
import { operations } from '@kinora/contract/operations'
import Schema from 'typebox/schema'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import type { NewKey } from '../../src/auth/key-store.ts'
import { createKeyText } from '../../src/auth/key-text.ts'
import { createSessionToken } from '../../src/auth/session-token.ts'
import { ask, askJson, expectProblem } from '../kit/answers.ts'
import { consoleSettings, openBrowser, randomAddress } from '../kit/console-browser.ts'
import { createAccount, createKey } from '../kit/factories.ts'
import { createOperator } from '../kit/operator.ts'
import { startGateway, type TestGateway } from '../kit/start-gateway.ts'

let gateway: TestGateway

beforeAll(async () => {
  gateway = await startGateway(consoleSettings)
})
afterAll(() => gateway[Symbol.asyncDispose]())

const customer = async (traits: Partial<NewKey> = {}) => {
  const { postgres } = gateway.database
  const accountId = await createAccount(postgres)
  return { accountId, ...(await createKey(postgres, accountId, traits)) }
}
const operatorKey = (traits: Partial<NewKey> = {}) =>
  createKey(gateway.database.postgres, '', { kind: 'admin', name: 'night shift', ...traits })
const browser = (cookie?: string) => openBrowser(gateway.url, { cookie })
const signedIn = async (...keys: string[]) => {
  const opened = browser()
  expect((await opened.signIn(...keys)).status).toBe(200)
  return opened
}
const linkFor = async (...keys: string[]) => {
  const answer = await browser().post('/console/v1/links', { keys })
  expect(Schema.Errors(operations.createConsoleLink.answer.schema, answer.body)).toEqual([true, []])
  const [, token = ''] =
    /^https?:\/\/[^/]+\/console\/sign-in#link=([\w-]{43})$/.exec(String(answer.body['url'])) ?? []
  expect(token).not.toBe('')
  return token
}

describe('a session', () => {
  test('stands for a key of a customer and a key of an operator', async () => {
    const { accountId, id, text } = await customer()
    const operator = await operatorKey()
    const opened = browser()
    const answer = await opened.signIn(text, operator.text)
    expect(answer.body).toMatchObject({
      account: { id: accountId },
      key: { id, hint: `…${text.slice(-4)}`, kind: 'payg', scopes: ['create', 'read'] },
      operator: { id: operator.id, name: 'night shift', role: 'admin' },
      currency: 'USD',
    })
    expect((await opened.ask('/console/v1/session')).body).toEqual(answer.body)
    expect((await opened.ask('/v1/models')).status).toBe(200)
    expect((await opened.ask('/admin/v1/accounts')).status).toBe(200)
    expect((await opened.post('/admin/v1/accounts', { name: 'Aquarium' })).status).toBe(200)
  })

  test('has a cookie that only its own host gets, no script reads and no other site sends', async () => {
    const { text } = await customer()
    const { headers } = await browser().signIn(text)
    expect(headers.get('set-cookie')).toMatch(
      /^__Host-kinora_session=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict; Secure$/,
    )
    expect(headers.get('access-control-allow-origin')).toBeNull()
  })

  test('without HTTPS on another host has a cookie that browsers accept there', async () => {
    await using plain = await startGateway(
      { ...consoleSettings, PUBLIC_URL: 'http://media.example' },
      gateway,
    )
    const { text } = await customer()
    const headers = { 'x-forwarded-host': 'media.example', 'x-forwarded-for': randomAddress() }
    const { headers: answered } = await askJson(
      `${plain.url}/console/v1/sessions`,
      undefined,
      { keys: [text] },
      headers,
    )
    const cookie = answered.get('set-cookie') ?? ''
    expect(cookie).toMatch(/^kinora_session=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Strict$/)
    const [pair = ''] = cookie.split(';')
    const session = (name: string) =>
      ask(`${plain.url}/console/v1/session`, undefined, { headers: { ...headers, cookie: name } })
    expect((await session(pair)).status).toBe(200)
    expectProblem(await session(`__Host-${pair}`), 'missing_session')
  })

  test('is not the one that the cookie had before, which ends', async () => {
    const { text } = await customer()
    const attacker = await signedIn(text)
    const planted = attacker.cookie()
    const victim = browser(planted)
    await victim.signIn((await customer()).text)
    expect(victim.cookie()).not.toBe(planted)
    expectProblem(await attacker.ask('/console/v1/session'), 'missing_session')
    const invented = createSessionToken()
    const other = browser(invented)
    await other.signIn(text)
    expect(other.cookie()).not.toBe(invented)
    expectProblem(await browser(invented).ask('/console/v1/session'), 'missing_session')
  })

  test('has no effect on a request with a key', async () => {
    const [one, other] = [await customer(), await customer()]
    const opened = await signedIn(one.text)
    const accountOf = async (headers: Record<string, string>) =>
      ((await opened.ask('/v1/me', { headers })).body['account'] as { id: string }).id
    expect(await accountOf({})).toBe(one.accountId)
    expect(await accountOf({ authorization: `Bearer ${other.text}` })).toBe(other.accountId)
    expect(await accountOf({ 'x-api-key': other.text })).toBe(other.accountId)
    const wrong = await opened.ask('/v1/me', {
      headers: { authorization: `Bearer ${createKeyText('payg')}` },
    })
    expectProblem(wrong, 'invalid_api_key')
  })

  test('reads apart from the programs with its key, and four times as much', async () => {
    const { text } = await customer({ limits: { read: 2 } })
    const opened = await signedIn(text)
    const read = async (headers: Record<string, string> = {}) =>
      (await opened.ask('/v1/models', { headers })).status
    for (let reads = 0; reads < 8; reads += 1) expect(await read()).toBe(200)
    expect(await read()).toBe(429)
    const program = { authorization: `Bearer ${text}` }
    expect([await read(program), await read(program), await read(program)]).toEqual([200, 200, 429])
  })

  test('is stored as a hash', async () => {
    const opened = await signedIn((await customer()).text)
    const { rows } = await gateway.database.postgres.query<{ text: string }>(
      'select string_agg(s::text, chr(10)) as text from console_sessions s',
    )
    expect(rows[0]?.text).not.toContain(opened.cookie())
    expect(rows[0]?.text).not.toContain(Buffer.from(opened.cookie() ?? '', 'base64url').toString('hex'))
  })

  test('ends with signing out, which deletes the cookie', async () => {
    const opened = await signedIn((await customer()).text)
    const cookie = opened.cookie()
    const answer = await opened.ask('/console/v1/session', { method: 'DELETE' })
    expect(answer.body).toMatchObject({ deleted: true })
    expect(answer.headers.get('set-cookie')).toMatch(/^__Host-kinora_session=; .*Max-Age=0; .*Secure$/)
    expect(opened.cookie()).toBeUndefined()
    expectProblem(await browser(cookie).ask('/v1/models'), 'missing_api_key')
  })
})

describe('other pages', () => {
  const create = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"name":"Aquarium"}',
  }
  /** A request with the cookie, and headers that name another page or none. */
  const from = async (
    page: Record<string, string>,
    path = '/admin/v1/accounts',
    init: RequestInit = create,
  ) => {
    const opened = await signedIn((await operatorKey()).text, (await customer()).text)
    const { 'sec-fetch-site': _, ...headers } = opened.headers()
    return ask(gateway.url + path, undefined, {
      ...init,
      headers: { ...headers, ...(init.headers as Record<string, string>), ...page },
    })
  }
  const own = () => gateway.url

  test.for([
    ['a foreign origin', { origin: 'https://evil.example' }],
    ['no origin', {}],
    ['a sandboxed page', { origin: 'null' }],
    ['another port of the host', { origin: 'http://127.0.0.1:1' }],
    ['another port of the host, as the browser says', { 'sec-fetch-site': 'same-site' }],
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['a typed address', { 'sec-fetch-site': 'none' }],
  ] as const)('%s cannot change anything', async ([, page]) => {
    expectProblem(await from(page), 'access_denied')
  })

  test('a form of another page changes nothing, and signs nobody in', async () => {
    const form = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{"name":"Aquarium"}' }
    expectProblem(await from({ origin: 'https://evil.example' }, '/admin/v1/accounts', form), 'access_denied')
    const { text } = await customer()
    const signIn = { ...form, body: JSON.stringify({ keys: [text] }) }
    for (const page of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }])
      expectProblem(
        await ask(`${gateway.url}/console/v1/sessions`, undefined, {
          ...signIn,
          headers: { ...signIn.headers, ...page, 'x-forwarded-for': randomAddress() },
        }),
        'access_denied',
      )
  })

  test('another page cannot sign out, and cannot read', async () => {
    const signOut = { method: 'DELETE' }
    expectProblem(
      await from({ origin: 'https://evil.example' }, '/console/v1/session', signOut),
      'access_denied',
    )
    for (const site of ['cross-site', 'same-site'])
      expectProblem(await from({ 'sec-fetch-site': site }, '/v1/models', {}), 'access_denied')
  })

  test('the own page may, by its origin alone too', async () => {
    expect((await from({ origin: own() })).status).toBe(200)
    expect((await from({ 'sec-fetch-site': 'same-origin', origin: own() })).status).toBe(200)
    expect((await from({ 'sec-fetch-site': 'none' }, '/v1/models', {})).status).toBe(200)
    expect((await from({}, '/v1/models', {})).status).toBe(200)
  })

  test('responses never allow credentials of other origins', async () => {
    const { headers } = await from({ origin: 'https://evil.example' }, '/v1/models', {})
    expect(headers.get('access-control-allow-credentials')).toBeNull()
  })
})

describe('rights', () => {
  test('a session of a customer is none of an operator, and the other way round', async () => {
    const [one, two] = [await signedIn((await customer()).text), await signedIn((await operatorKey()).text)]
    expectProblem(await one.ask('/admin/v1/accounts'), 'access_denied')
    expectProblem(await one.post('/admin/v1/accounts', { name: 'Aquarium' }), 'access_denied')
    expectProblem(await two.ask('/v1/models'), 'access_denied')
  })

  test('an operator with the role read changes nothing', async () => {
    const opened = await signedIn((await operatorKey({ role: 'read' })).text)
    expect((await opened.ask('/admin/v1/accounts')).status).toBe(200)
    expectProblem(await opened.post('/admin/v1/accounts', { name: 'Aquarium' }), 'access_denied')
  })

  test('a session has the scopes, the models and the addresses of its key', async () => {
    const { text } = await customer({ scopes: ['read'], models: ['vidA_3_1'] })
    const reader = await signedIn(text)
    const order = { model: 'vidB-2', prompt: 'A whale', seconds: 4, size: '480x480' }
    expectProblem(await reader.post('/v1/videos', order), 'insufficient_scope')
    const bound = await customer({ addresses: ['2001:db8:ffff:ffff::/64'] })
    expectProblem(await browser().signIn(bound.text), 'ip_not_allowed')
    const near = openBrowser(gateway.url, { address: '2001:db8:ffff:ffff::7' })
    expect((await near.signIn(bound.text)).status).toBe(200)
    expectProblem(await browser(near.cookie()).ask('/v1/me'), 'ip_not_allowed')
  })

  test('a key that cannot be used cannot sign in', async () => {
    const operator = await createOperator(gateway)
    const { id, text } = await customer()
    await operator.call('updateKey', { id, body: { disabled: true } })
    expectProblem(await browser().signIn(text), 'access_denied')
    expectProblem(await browser().signIn(createKeyText('payg')), 'invalid_api_key')
    expectProblem(await browser().signIn('password'), 'invalid_api_key')
    const expired = await customer({ expiresAt: new Date(Date.now() - 60_000) })
    expectProblem(await browser().signIn(expired.text), 'expired_api_key')
    const [one, other] = [await customer(), await customer()]
    expectProblem(await browser().signIn(one.text, other.text), 'invalid_parameter', 'keys')
    expectProblem(await browser().post('/console/v1/sessions', {}), 'invalid_parameter', 'keys')
    const both = await browser().post('/console/v1/sessions', { keys: [one.text], link: 'x' })
    expectProblem(both, 'invalid_parameter', 'link')
  })
})

describe('a link', () => {
  test('signs in once', async () => {
    const { id, text } = await customer()
    const link = await linkFor(text)
    const opened = browser()
    const first = await opened.post('/console/v1/sessions', { link })
    expect(first.body).toMatchObject({ key: { id }, operator: null })
    expect((await opened.ask('/v1/models')).status).toBe(200)
    expectProblem(await browser().post('/console/v1/sessions', { link }), 'link_expired')
  })

  test('says whom it stands for, without being used', async () => {
    const { accountId, id, text } = await customer()
    const operator = await operatorKey({ role: 'support' })
    const link = await linkFor(text, operator.text)
    const check = () => browser().post('/console/v1/links/check', { link })
    const answer = await check()
    expect(Schema.Errors(operations.checkConsoleLink.answer.schema, answer.body)).toEqual([true, []])
    expect(answer.headers.get('set-cookie')).toBeNull()
    expect(answer.body).toMatchObject({
      account: { id: accountId },
      key: { id, hint: `…${text.slice(-4)}` },
      operator: { id: operator.id, name: 'night shift', role: 'support' },
    })
    expect((await check()).status).toBe(200)
    expect((await browser().post('/console/v1/sessions', { link })).status).toBe(200)
    expectProblem(await check(), 'link_expired')
    expectProblem(await browser().post('/console/v1/links/check', { link: 'x' }), 'link_expired')
  })

  test('used 20 times at once signs in one of them', async () => {
    const link = await linkFor((await customer()).text, (await operatorKey()).text)
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => browser().post('/console/v1/sessions', { link })),
    )
    expect(answers.map(({ status }) => status).toSorted((one, two) => one - two)).toEqual([
      200,
      ...Array(19).fill(410),
    ])
  })

  test('does not sign in after five minutes, with another token or with a key that is no longer accepted', async () => {
    const { id, text } = await customer()
    const expired = await linkFor(text)
    await gateway.database.postgres.query(
      `update console_links set expires_at = expires_at - interval '301 seconds'`,
    )
    for (const path of ['/console/v1/links/check', '/console/v1/sessions'])
      expectProblem(await browser().post(path, { link: expired }), 'link_expired')
    for (const link of [createSessionToken(), 'x'])
      expectProblem(await browser().post('/console/v1/sessions', { link }), 'link_expired')
    const link = await linkFor(text)
    await (await createOperator(gateway)).call('rotateKey', { id })
    for (const path of ['/console/v1/links/check', '/console/v1/sessions'])
      expectProblem(await browser().post(path, { link }), 'invalid_api_key')
  })

  test('stays valid when a sign-in with it is refused', async () => {
    const { id, text } = await customer({ addresses: ['2001:db8:ffff:ffff::/64'] })
    const near = () => openBrowser(gateway.url, { address: '2001:db8:ffff:ffff::8' })
    const { body } = await near().post('/console/v1/links', { keys: [text] })
    const [, link = ''] = String(body['url']).split('#link=')
    expectProblem(await browser().post('/console/v1/sessions', { link }), 'ip_not_allowed')
    expect((await near().post('/console/v1/sessions', { link })).body).toMatchObject({ key: { id } })
    expectProblem(await near().post('/console/v1/sessions', { link }), 'link_expired')
  })

  test('stays valid when its session cannot be stored', async () => {
    const { postgres } = gateway.database
    const { id, text } = await customer()
    const link = await linkFor(text)
    await postgres.query('alter table console_sessions rename to hidden_sessions')
    try {
      expect((await browser().post('/console/v1/sessions', { link })).status).toBe(500)
    } finally {
      await postgres.query('alter table hidden_sessions rename to console_sessions')
    }
    expect((await browser().post('/console/v1/sessions', { link })).body).toMatchObject({ key: { id } })
  })

  test('leads operators to their own server', async () => {
    await using apart = await startGateway({ ...consoleSettings, ADMIN_PORT: '4' }, gateway)
    const operator = await operatorKey()
    const { text } = await customer()
    const at = (url: string) => openBrowser(url)
    const { body } = await at(apart.adminUrl).post('/console/v1/links', { keys: [operator.text] })
    expect(body['url']).toMatch(/^http:\/\/127\.0\.0\.1:4\/console\/sign-in#link=/)
    expectProblem(await at(apart.adminUrl).signIn(text, operator.text), 'access_denied')
    const opened = at(apart.adminUrl)
    expect((await opened.signIn(operator.text)).status).toBe(200)
    expect((await opened.ask('/admin/v1/accounts')).status).toBe(200)
    expect((await opened.ask('/console/v1/session')).body).toMatchObject({ operator: { id: operator.id } })
  })
})

test('failed attempts of an address are limited, and never refuse a key or a link that is valid', async () => {
  const address = randomAddress()
  const there = () => openBrowser(gateway.url, { address })
  const { text } = await customer()
  const link = await linkFor(text)
  for (let count = 0; count < 15; count += 1) expect((await there().signIn(text)).status).toBe(200)
  const failed = await Promise.all(Array.from({ length: 20 }, () => there().signIn(createKeyText('payg'))))
  const refused = failed.filter(({ status }) => status === 429)
  expect(refused).toHaveLength(10)
  expect(refused[0]?.headers.get('retry-after')).toMatch(/^\d+$/)
  for (const path of ['/console/v1/links/check', '/console/v1/sessions'])
    expectProblem(await there().post(path, { link: createSessionToken() }), 'rate_limit_exceeded')
  expectProblem(await there().post('/console/v1/links', { keys: ['sk-x'] }), 'rate_limit_exceeded')
  expect((await there().signIn(text)).status).toBe(200)
  expect((await there().post('/console/v1/links', { keys: [text] })).status).toBe(200)
  expect((await there().post('/console/v1/links/check', { link })).status).toBe(200)
  expect((await there().post('/console/v1/sessions', { link })).status).toBe(200)
  expectProblem(await browser().signIn(createKeyText('payg')), 'invalid_api_key')
})

test('the limit of requests per address bounds the attempts too', async () => {
  await using few = await startGateway({ ...consoleSettings, LIMIT_ADDRESS_PER_3_MINUTES: '30' }, gateway)
  const address = randomAddress()
  const { text } = await customer()
  for (let count = 0; count < 30; count += 1)
    await openBrowser(few.url, { address }).signIn(createKeyText('payg'))
  const answer = await openBrowser(few.url, { address }).signIn(text)
  expectProblem(answer, 'rate_limit_exceeded')
  expect(JSON.stringify(answer.body)).toContain('30 requests per 3 minutes')
})

test('without the console there are no sessions', async () => {
  const opened = await signedIn((await customer()).text)
  await using without = await startGateway({ ...consoleSettings, CONSOLE: 'off' }, gateway)
  const there = openBrowser(without.url, { cookie: opened.cookie() })
  expectProblem(await there.ask('/v1/models'), 'missing_api_key')
  expectProblem(await there.ask('/console/v1/session'), 'endpoint_not_found')
  expectProblem(await there.ask('/console'), 'endpoint_not_found')
  expect(await (await fetch(without.url)).json()).toMatchObject({ console_url: null })
})
