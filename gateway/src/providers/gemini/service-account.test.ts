import { createVerify, generateKeyPairSync } from 'node:crypto'

import { afterEach, expect, test, vi } from 'vitest'

import { failureOf, listenForTest } from '../../../test/kit/listen-for-test.ts'
import { geminiVideo } from './gemini-video.ts'
import { serviceAccountTokens } from './service-account.ts'

const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const soon = (): AbortSignal => AbortSignal.timeout(120_000)

const keyFile = (tokenUri: string, changes: object = {}) =>
  JSON.stringify({
    type: 'service_account',
    client_email: 'gateway@project.example',
    private_key_id: 'key-1',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    token_uri: tokenUri,
    ...changes,
  })

afterEach(() => {
  vi.restoreAllMocks()
})

/** Issues numbered tokens, valid for an hour. */
const tokenOffice = async (refusal?: { status: number; body: object }) => {
  const forms: URLSearchParams[] = []
  const server = await listenForTest((_request, response, body) => {
    forms.push(new URLSearchParams(body.toString()))
    const answer = refusal?.body ?? { access_token: `token-${forms.length}`, expires_in: 3600 }
    response.writeHead(refusal?.status ?? 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(answer))
  })
  return { ...server, forms }
}

test('a token is requested with a signed assertion', async () => {
  await using office = await tokenOffice()
  const tokenUri = `${office.url}/token`
  expect(await serviceAccountTokens(keyFile(tokenUri))(soon())).toBe('token-1')
  const [form] = office.forms
  expect(form?.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer')
  const [head = '', claims = '', signature = ''] = form?.get('assertion')?.split('.') ?? []
  const read = (part: string) =>
    JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>
  expect(read(head)).toEqual({ alg: 'RS256', typ: 'JWT', kid: 'key-1' })
  expect(read(claims)).toMatchObject({
    iss: 'gateway@project.example',
    aud: tokenUri,
    scope: 'https://www.googleapis.com/auth/cloud-platform',
  })
  expect(Number(read(claims)['exp']) - Number(read(claims)['iat'])).toBe(3600)
  const verify = createVerify('RSA-SHA256').update(`${head}.${claims}`)
  expect(verify.verify(publicKey, Buffer.from(signature, 'base64url'))).toBe(true)
})

test('a token is shared, cached, and renewed five minutes before it expires', async () => {
  const now = performance.now.bind(performance)
  const clock = vi.spyOn(performance, 'now')
  await using office = await tokenOffice()
  const token = serviceAccountTokens(keyFile(`${office.url}/token`))
  expect(await Promise.all([token(soon()), token(soon()), token(soon())])).toEqual(Array(3).fill('token-1'))
  clock.mockImplementation(() => now() + 54 * 60_000)
  expect(await token(soon())).toBe('token-1')
  clock.mockImplementation(() => now() + 55 * 60_000)
  expect(await Promise.all([token(soon()), token(soon())])).toEqual(['token-2', 'token-2'])
  expect(office.forms).toHaveLength(2)
})

test('an aborted caller does not stop the token request of others', async () => {
  await using office = await tokenOffice()
  const token = serviceAccountTokens(keyFile(`${office.url}/token`))
  const leave = new AbortController()
  const [left, stayed] = [failureOf(token(leave.signal)), token(soon())]
  leave.abort()
  expect(await left).toMatchObject({ kind: 'not_delivered' })
  expect(await stayed).toBe('token-1')
})

test.each([
  [400, { error: 'invalid_grant', error_description: 'Invalid JWT' }, 'unauthorized'],
  [503, {}, 'not_delivered'],
  [500, {}, 'not_delivered'],
  [200, { hello: 1 }, 'not_delivered'],
])('%d from the token endpoint is %s, and is retried the next time', async (status, body, kind) => {
  await using office = await tokenOffice({ status, body })
  const token = serviceAccountTokens(keyFile(`${office.url}/token`))
  expect(await failureOf(token(soon()))).toMatchObject({ name: 'ProviderFailure', kind })
  expect(await failureOf(token(soon()))).toMatchObject({ kind })
  expect(office.forms).toHaveLength(2)
})

test.each([
  ['{"type":"service_account"}', 'client_email and private_key'],
  ['{ not json', 'client_email and private_key'],
  [keyFile('http://tokens.example/token'), 'https://'],
  [keyFile('http://127.0.0.1.tokens.example/token'), 'https://'],
  [keyFile('https://tokens.example/token', { private_key: 'no key' }), 'private_key'],
])('an unusable key file is refused with the reason', async (text, why) => {
  const failure = await failureOf(serviceAccountTokens(text)(soon()))
  expect(failure).toMatchObject({
    kind: 'unauthorized',
    code: 'upstream_error',
    message: expect.stringContaining(why),
  })
})

test('the enterprise API is called with one shared token', async () => {
  const asked: (string | undefined)[] = []
  await using vendor = await listenForTest((request, response) => {
    asked.push(request.headers.authorization)
    const answer = request.url === '/token' ? { access_token: 'token-1' } : { name: 'operation', done: false }
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  const provider = geminiVideo({
    ...{ baseUrl: vendor.url, apiKey: keyFile(`${vendor.url}/token`) },
    ...{ api: 'enterprise', project: 'ours', location: 'here' },
  })
  const name = 'projects/ours/locations/here/publishers/google/models/veo-3/operations/1'
  for (const _ of [1, 2]) await provider.poll({ name }, soon())
  expect(asked).toEqual([undefined, 'Bearer token-1', 'Bearer token-1'])
})
