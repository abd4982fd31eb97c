import { expect, test } from 'vitest'

import type { Caller } from '../keys/caller.ts'
import { createRateLimit } from './rate-limit.ts'

const caller = (traits: Partial<Caller> = {}): Caller => ({
  keyId: 'a key',
  accountId: 'an account',
  kind: 'payg',
  models: undefined,
  addresses: undefined,
  requestsPerMinute: undefined,
  limits: {},
  dialect: 'reference',
  hasQuota: false,
  ...traits,
})
const settings = { perMinute: () => ({ create: 2, read: 3, audio: 60, chat: 60 }), perAddress: 0 }

test('without Redis the limits are counted in this process, each group for itself', async () => {
  const limit = createRateLimit(settings, undefined)
  await limit('create', caller(), '::1')
  await expect(limit('create', caller(), '::1')).resolves.toMatchObject({ 'x-ratelimit-remaining': '0' })
  await expect(limit('create', caller(), '::1')).rejects.toMatchObject({
    code: 'rate_limit_exceeded',
    headers: {
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '0',
      'retry-after': expect.stringMatching(/^\d+$/),
    },
  })
  await expect(limit('read', caller(), '::1')).resolves.toMatchObject({ 'x-ratelimit-limit': '3' })
})

test("a key's own limit takes the place of the instance's", async () => {
  const limit = createRateLimit(settings, undefined)
  const generous = caller({ limits: { create: 1_000 } })
  await expect(limit('create', generous, '::1')).resolves.toMatchObject({ 'x-ratelimit-limit': '1000' })
})

test('an address is counted over all keys', async () => {
  const limit = createRateLimit({ ...settings, perAddress: 2 }, undefined)
  await limit('read', caller({ keyId: 'one' }), '203.0.113.7')
  await limit('read', caller({ keyId: 'other' }), '203.0.113.7')
  await expect(limit('read', caller({ keyId: 'third' }), '203.0.113.7')).rejects.toMatchObject({
    code: 'rate_limit_exceeded',
  })
  await limit('read', caller({ keyId: 'third' }), '203.0.113.8')
})
