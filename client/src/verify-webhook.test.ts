/** Deliveries as the service signs them. */
import { generateKeyPairSync } from 'node:crypto'

import { expect, test } from 'vitest'

import { signWebhook } from '../../gateway/src/webhooks/signing/sign-webhook.ts'
import { createWebhookSecret } from '../../gateway/src/webhooks/signing/webhook-secret.ts'
import { Kinora, verifyWebhook } from './index.ts'

const secret = createWebhookSecret()
const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const publicKeys = [
  `whpk_${Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString('base64')}`,
]
const body = JSON.stringify({
  id: 'evt_1',
  object: 'event',
  type: 'video.completed',
  data: { id: 'video_1' },
})

const sign = (agoSeconds = 0) => {
  const timestamp = Math.floor(Date.now() / 1000) - agoSeconds
  return signWebhook({ id: 'evt_1', timestamp, body }, [createWebhookSecret(), secret], [privateKey])
}
const keys = { secret: secret.reveal() }

test('a delivery is verified with the secret, one of several secrets, or the public keys', async () => {
  const { webhooks } = new Kinora({ baseUrl: 'https://media.example' })
  expect(await webhooks.verify(body, sign(), keys)).toMatchObject({ id: 'evt_1', type: 'video.completed' })
  const several = { secret: [createWebhookSecret().reveal(), secret.reveal()] }
  const bytes = new TextEncoder().encode(body)
  expect(await verifyWebhook(bytes, new Headers(sign()), several)).toMatchObject({ id: 'evt_1' })
  expect(await verifyWebhook(body, sign(), { publicKeys })).toMatchObject({ id: 'evt_1' })
})

test('a changed, old or unsigned delivery and another secret are refused', async () => {
  const refused = { code: 'invalid_signature' }
  await expect(verifyWebhook(`${body} `, sign(), keys)).rejects.toMatchObject(refused)
  await expect(verifyWebhook(body, { ...sign(), 'webhook-id': 'evt_2' }, keys)).rejects.toMatchObject(refused)
  await expect(verifyWebhook(body, sign(600), keys)).rejects.toMatchObject(refused)
  await expect(verifyWebhook(body, {}, keys)).rejects.toMatchObject(refused)
  const other = { secret: createWebhookSecret().reveal() }
  await expect(verifyWebhook(body, sign(), other)).rejects.toMatchObject(refused)
  await expect(verifyWebhook(body, sign(), { secret: 'whsec_*' })).rejects.toMatchObject(refused)
})

test('a body that was parsed already is refused, and the error says what to give', async () => {
  const parsed = JSON.parse(body) as unknown as string
  await expect(verifyWebhook(parsed, sign(), keys)).rejects.toThrow(/before it is parsed/)
})
