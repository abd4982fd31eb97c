import { expect, test } from 'vitest'

import type { Caller } from '../auth/caller.ts'
import { createRateLimit } from './rate-limit.ts'

const caller = (traits: Partial<Caller> = {}): Caller => ({
  keyId: 'a key',
  accountId: 'an account',
  kind: 'payg',
  scopes: [],
  models: undefined,
  addresses: undefined,
  requestsPerMinute: undefined,
  limits: {},
  dialect: 'reference',
  hasQuota: false,
  currency: 'USD',
  ...traits,
})
const settings = {
  perMinute: () => ({ create: 2, read: 3, audio: 60, chat: 60 }),
  perAddress: 0,
  abortedPerMinute: 2,
}

test('without Redis the limits are counted in this process, separately for each group', async () => {
  const limit = createRateLimit(settings, undefined)
  await limit('create', caller(), undefined)
  await expect(limit('create', caller(), undefined)).resolves.toMatchObject({ 'x-ratelimit-remaining': '0' })
  await expect(limit('create', caller(), undefined)).rejects.toMatchObject({
    code: 'rate_limit_exceeded',
    headers: {
      'x-ratelimit-limit': '2',
      'x-ratelimit-remaining': '0',
      'retry-after': expect.stringMatching(/^\d+$/),
    },
  })
  await expect(limit('read', caller(), undefined)).resolves.toMatchObject({ 'x-ratelimit-limit': '3' })
})

test("a key's own limit replaces the instance's limit", async () => {
  const limit = createRateLimit(settings, undefined)
  const generous = caller({ limits: { create: 1_000 } })
  await expect(limit('create', generous, undefined)).resolves.toMatchObject({ 'x-ratelimit-limit': '1000' })
})

test('the error names the limit that was reached and when to try again', async () => {
  const limit = createRateLimit({ ...settings, perAddress: 1 }, undefined)
  const key = caller({ requestsPerMinute: 2, limits: { audio: 1 } })
  await limit('audio', key, undefined)
  await expect(limit('audio', key, undefined)).rejects.toThrow(
    /^Rate limit reached: 1 audio request per minute for this key\. Try again in \d+ s\.$/,
  )
  await expect(limit('read', key, undefined)).rejects.toThrow(
    /^Rate limit reached: 2 requests per minute for this key\. Try again in \d+ s\.$/,
  )
  await limit.address('203.0.113.7')
  await expect(limit.address('203.0.113.7')).rejects.toThrow(
    /^Rate limit reached: 1 request per 3 minutes for this address\. Try again in \d+ s\.$/,
  )
})

test('X-RateLimit describes the tightest limit, which may be that of the address, and RateLimit all of them', async () => {
  const limit = createRateLimit({ ...settings, perAddress: 2 }, undefined)
  const ofAddress = await limit.address('203.0.113.7')
  await expect(limit('read', caller(), ofAddress)).resolves.toMatchObject({
    'x-ratelimit-limit': '2',
    'x-ratelimit-remaining': '1',
    'ratelimit-policy': '"address";q=2;w=180, "read";q=3;w=60',
    ratelimit: expect.stringMatching(/^"address";r=1;t=1\d\d, "read";r=2;t=\d\d$/),
  })
  const wide = { name: 'address', seconds: 180, limit: 9, remaining: 9, resetsInMs: 1 }
  await expect(limit('create', caller({ requestsPerMinute: 7 }), wide)).resolves.toMatchObject({
    'x-ratelimit-limit': '2',
    'ratelimit-policy': '"address";q=9;w=180, "key";q=7;w=60, "create";q=2;w=60',
  })
})

test('an IPv6 address is counted with the others of its /64, an IPv4 address by itself', async () => {
  const limit = createRateLimit({ ...settings, perAddress: 2 }, undefined)
  await limit.address('2001:db8:1:2::1')
  await limit.address('2001:db8:1:2:ffff::2')
  await expect(limit.address('2001:db8:1:2::3')).rejects.toMatchObject({ code: 'rate_limit_exceeded' })
  await limit.address('2001:db8:1:3::1')
  await limit.address('203.0.113.7')
  await limit.address('203.0.113.8')
  await limit.address('203.0.113.8')
  await limit.address('203.0.113.7')
})

test("operators' requests are counted apart from the others of their address", async () => {
  const limit = createRateLimit({ ...settings, perAddress: 1 }, undefined)
  await limit.address('203.0.113.7')
  await expect(limit.address('203.0.113.7')).rejects.toMatchObject({ code: 'rate_limit_exceeded' })
  await limit.address('203.0.113.7', 'operators')
  await expect(limit.address('203.0.113.7', 'operators')).rejects.toMatchObject({
    code: 'rate_limit_exceeded',
  })
})

test('a key with too many aborted requests is refused, and another is not', async () => {
  const limit = createRateLimit(settings, undefined)
  await limit.countAborted(caller())
  await expect(limit.assertFewAborted(caller())).resolves.toBeUndefined()
  await limit.countAborted(caller())
  // One that was under way when the limit was reached is counted, and throws nothing.
  await limit.countAborted(caller())
  await expect(limit.assertFewAborted(caller())).rejects.toMatchObject({
    code: 'rate_limit_exceeded',
    message: expect.stringMatching(
      /^Rate limit reached: 2 aborted requests per minute for this key\. Try again in \d+ s\. .*disconnected/,
    ),
    headers: {
      'retry-after': expect.stringMatching(/^\d+$/),
      'x-ratelimit-limit': '2',
      'ratelimit-policy': '"aborted";q=2;w=60',
      ratelimit: expect.stringMatching(/^"aborted";r=0;t=\d+$/),
    },
  })
  await expect(limit.assertFewAborted(caller({ keyId: 'another' }))).resolves.toBeUndefined()
})

test('without a limit of aborted requests no request is refused', async () => {
  const limit = createRateLimit({ ...settings, abortedPerMinute: 0 }, undefined)
  for (let count = 0; count < 10; count += 1) await limit.countAborted(caller())
  await expect(limit.assertFewAborted(caller())).resolves.toBeUndefined()
})
