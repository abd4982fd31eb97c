import { generateKeyPairSync } from 'node:crypto'

import { expect, test } from 'vitest'

import { createFalSigner, type FalSigner } from '../../../../dev/vendor/fal-signature.ts'
import { failureOf, listenForTest } from '../../../test/kit/listen-for-test.ts'
import { falWebhook } from './fal-webhook.ts'

const body = Buffer.from('{"request_id":"job-1","status":"OK","payload":{"video":{"url":"https://files/1"}}}')

/** A reader of webhooks beside a vendor that publishes its keys, both on a clock that a test moves. */
async function startReader(signer: FalSigner, settings: { userId?: string } = {}) {
  const clock = { ms: Date.now() }
  const keys = { asked: 0, publishes: (): unknown => signer.jwks(), status: 200 }
  const server = await listenForTest((_request, response) => {
    keys.asked += 1
    response.writeHead(keys.status).end(JSON.stringify(keys.publishes()))
  })
  const read = falWebhook(
    { jwksUrl: `${server.url}/.well-known/jwks.json`, userId: '', ...settings },
    () => clock.ms,
  )
  const claims = (more: object = {}) => ({
    requestId: 'job-1',
    atSeconds: Math.floor(clock.ms / 1000),
    ...more,
  })
  return {
    clock,
    keys,
    claims,
    read: (headers: Record<string, string>, bytes = body) => read({ headers, note: undefined, body: bytes }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

const refused = expect.objectContaining({ name: 'ProviderFailure', kind: 'rejected' })

test('a genuine webhook tells its job, and the keys are asked for once a day', async () => {
  const signer = createFalSigner()
  await using reader = await startReader(signer)
  const headers = signer.headersOf(body, reader.claims())
  expect(await Promise.all([reader.read(headers), reader.read(headers)])).toEqual([
    { jobId: 'job-1' },
    { jobId: 'job-1' },
  ])
  expect(reader.keys.asked).toBe(1)
  reader.clock.ms += 23 * 3_600_000
  expect(await reader.read(signer.headersOf(body, reader.claims()))).toEqual({ jobId: 'job-1' })
  expect(reader.keys.asked).toBe(1)
  reader.clock.ms += 2 * 3_600_000
  await reader.read(signer.headersOf(body, reader.claims()))
  expect(reader.keys.asked).toBe(2)
})

test.each([
  'x-fal-webhook-request-id',
  'x-fal-webhook-user-id',
  'x-fal-webhook-timestamp',
  'x-fal-webhook-signature',
])('nothing is believed with another or no %s', async (name) => {
  const signer = createFalSigner()
  await using reader = await startReader(signer)
  const headers = signer.headersOf(body, reader.claims())
  const value = headers[name] ?? ''
  const other = (value.startsWith('1') ? '2' : '1') + value.slice(1)
  for (const changed of [other, '', `${value}0`]) {
    expect(await failureOf(reader.read({ ...headers, [name]: changed }))).toEqual(refused)
  }
  const { [name]: _gone, ...rest } = headers
  expect(await failureOf(reader.read(rest))).toEqual(refused)
  expect(await reader.read(headers)).toEqual({ jobId: 'job-1' })
})

test('nothing is believed of a body with one other byte, nor of one that was only written differently', async () => {
  const signer = createFalSigner()
  await using reader = await startReader(signer)
  const headers = signer.headersOf(body, reader.claims())
  const changed = Buffer.from(body)
  changed[changed.length - 3] = 0x32
  expect(await failureOf(reader.read(headers, changed))).toEqual(refused)
  expect(await failureOf(reader.read(headers, Buffer.from(`${body.toString()} `)))).toEqual(refused)
})

test('the time it was signed at may be off by five minutes, and no more', async () => {
  const signer = createFalSigner()
  await using reader = await startReader(signer)
  const now = Math.floor(reader.clock.ms / 1000)
  for (const off of [-298, 298]) {
    expect(await reader.read(signer.headersOf(body, reader.claims({ atSeconds: now + off })))).toEqual({
      jobId: 'job-1',
    })
  }
  for (const off of [-302, 302]) {
    const headers = signer.headersOf(body, reader.claims({ atSeconds: now + off }))
    expect(await failureOf(reader.read(headers))).toEqual(refused)
  }
})

test('a new key is found, and nonsense makes us ask once a minute at most', async () => {
  const signer = createFalSigner()
  await using reader = await startReader(signer)
  await reader.read(signer.headersOf(body, reader.claims()))
  const former = signer.headersOf(body, reader.claims())
  signer.rotate('kept')
  const latter = signer.headersOf(body, reader.claims())
  // The keys were asked for just now, so the new one is not known yet; the vendor brings its news again.
  expect(await failureOf(reader.read(latter))).toEqual(refused)
  reader.clock.ms += 61_000
  expect(await reader.read(latter)).toEqual({ jobId: 'job-1' })
  expect(await reader.read(former)).toEqual({ jobId: 'job-1' })
  expect(reader.keys.asked).toBe(2)

  const stranger = createFalSigner()
  reader.clock.ms += 61_000
  const forged = stranger.headersOf(body, reader.claims())
  const outcomes = await Promise.all(Array.from({ length: 50 }, () => failureOf(reader.read(forged))))
  expect(outcomes).toEqual(Array.from({ length: 50 }, () => refused))
  expect(reader.keys.asked).toBe(3)
})

test('a key that was withdrawn is not believed once the list is read anew', async () => {
  const signer = createFalSigner()
  await using reader = await startReader(signer)
  const former = signer.headersOf(body, reader.claims())
  await reader.read(former)
  signer.rotate('dropped')
  expect(await reader.read(former)).toEqual({ jobId: 'job-1' })
  reader.clock.ms += 61_000
  await reader.read(signer.headersOf(body, reader.claims()))
  expect(await failureOf(reader.read(former))).toEqual(refused)
})

test('while the keys cannot be had, it is no forgery but a call to be made again', async () => {
  const signer = createFalSigner()
  await using reader = await startReader(signer)
  reader.keys.status = 503
  const headers = signer.headersOf(body, reader.claims())
  expect(await failureOf(reader.read(headers))).toMatchObject({ kind: 'busy' })
  reader.keys.status = 200
  reader.keys.publishes = () => ({ wrong: true })
  expect(await failureOf(reader.read(headers))).toMatchObject({ kind: 'unknown' })
  reader.keys.publishes = () => signer.jwks()
  expect(await reader.read(headers)).toEqual({ jobId: 'job-1' })
})

test('only keys of the right kind count, whatever else is published', async () => {
  const signer = createFalSigner()
  await using reader = await startReader(signer)
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 })
  const [, real] = signer.jwks().keys
  reader.keys.publishes = () => ({
    keys: [
      publicKey.export({ format: 'jwk' }),
      { ...(real as object), crv: 'X25519' },
      null,
      'key',
      { kty: 'OKP' },
    ],
  })
  expect(await failureOf(reader.read(signer.headersOf(body, reader.claims())))).toEqual(refused)
})

test('news for another account are not believed where one is named', async () => {
  const signer = createFalSigner()
  await using reader = await startReader(signer, { userId: 'user-of-ours' })
  expect(await failureOf(reader.read(signer.headersOf(body, reader.claims())))).toEqual(refused)
  const headers = signer.headersOf(body, reader.claims({ userId: 'user-of-ours' }))
  expect(await reader.read(headers)).toEqual({ jobId: 'job-1' })
})

test.each([
  [
    'a payload that could not be sent',
    '{"request_id":"job-1","payload":null,"payload_error":"too large"}',
    'job-1',
  ],
  ['a megabyte', JSON.stringify({ request_id: 'job-1', payload: 'x'.repeat(1_000_000) }), 'job-1'],
  ['no job', '{"status":"OK"}', undefined],
  ['a job that is none', '{"request_id":"../../admin"}', undefined],
  ['no JSON', 'OK', undefined],
  ['nothing', '', undefined],
])('a signed webhook with %s', async (_, text, jobId) => {
  const signer = createFalSigner()
  await using reader = await startReader(signer)
  const bytes = Buffer.from(text)
  const read = reader.read(signer.headersOf(bytes, reader.claims()), bytes)
  if (jobId === undefined) expect(await failureOf(read)).toEqual(refused)
  else expect(await read).toEqual({ jobId })
})
