import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'

import { signWebhook } from './sign.ts'

test('a library for Standard Webhooks verifies the signature', () => {
  const secret = `whsec_${Buffer.from('a secret of 24 characters').toString('base64')}`
  const body = '{"type":"video.completed"}'
  const timestamp = Math.floor(Date.now() / 1000)
  const headers = signWebhook(secret, { id: 'evt_1', timestamp, body })
  expect(new Webhook(secret).verify(body, headers)).toEqual({ type: 'video.completed' })
  expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow(/signature/)
})
