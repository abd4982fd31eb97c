import { generateKeyPairSync } from 'node:crypto'

import { expect, test } from 'vitest'

import { createFalSigner, type FalSigner } from '../../../../dev/vendor/fal-signature.ts'
import { failureOf, listenForTest } from '../../../test/kit/listen-for-test.ts'
import { falWebhook } from './fal-webhook.ts'

const body = Buffer.from('{"request_id":"job-1","status":"OK","payload":{"video":{"url":"https://files/1"}}}')

/** A webhook reader and a vendor with a JWKS, both on a test clock. */
async function startReader(signer: FalSigner, settings: { userId?: string } = {}) {
  const clock = { ms: Date.now() }
  const keys = { asked: 0, publishes: (): unknown => signer.jwks(), status: 200 }
  const server = await listenForTest((_request, response) => {
    keys.asked += 1
    response.writeHead(keys.status).end(JSON.stringify(keys.publishes()))
  })
  const read = falWebhook(
    { jwksUrl: `${server.url}/.well-known/jwks.json`, userId: '', ...settings },
    { wallMs: () => clock.ms, monotonicMs: () => clock.ms },
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

test('a genuine webhook names its job, and the keys are fetched once a day', async () => {
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
])('a webhook with a changed or missing %s is rejected', async (name) => {
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

test('a webhook with a changed or reformatted body is rejected', async () => {
  const signer = createFalSigner()
  await using reader = await startReader(signer)
  const headers = signer.headersOf(body, reader.claims())
  const changed = Buffer.from(body)
  changed[changed.length - 3] = 0x32
  expect(await failureOf(reader.read(headers, changed))).toEqual(refused)
  expect(await failureOf(reader.read(headers, Buffer.from(`${body.toString()} `)))).toEqual(refused)
})

test('the timestamp may differ by five minutes at most', async () => {
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

test('a new key is found, and unknown keys cause one fetch a minute at most', async () => {
  const signer = createFalSigner()
  await using reader = await startReader(signer)
  await reader.read(signer.headersOf(body, reader.claims()))
  const former = signer.headersOf(body, reader.claims())
  signer.rotate('published')
  const latter = signer.headersOf(body, reader.claims())
  // The keys were fetched just now, so the new one is not known yet; the vendor retries.
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

test('a withdrawn key is rejected after the next fetch', async () => {
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

test('while the keys are unavailable, a webhook is not rejected but must be retried', async () => {
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

test('only keys of the right kind are used', async () => {
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

test('a webhook for another account is rejected if an account is configured', async () => {
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
