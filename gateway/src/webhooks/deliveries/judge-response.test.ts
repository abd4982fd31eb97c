import { expect, test } from 'vitest'

import { judgeResponse } from './judge-response.ts'

const judge = (status: number, headers: Record<string, string> = {}) =>
  judgeResponse({ status, headers, text: '' })

test.each([200, 202, 204, 299])('%i is a success', (status) => {
  expect(judge(status)).toEqual({ kind: 'delivered' })
})

test.each([100, 301, 302, 307, 400, 404, 429, 500, 503])('%i is repeated', (status) => {
  expect(judge(status)).toEqual({ kind: 'retry', retryAfterSeconds: 0 })
})

test('410 ends all messages, and abort-message this one', () => {
  expect(judge(410)).toEqual({ kind: 'gone' })
  expect(judge(400, { 'webhook-delivery': ' Abort-Message ' })).toEqual({ kind: 'rejected' })
  expect(judge(200, { 'webhook-delivery': 'abort-message' })).toEqual({ kind: 'delivered' })
})

test('Retry-After may be seconds, or a date relative to that of the response', () => {
  expect(judge(503, { 'retry-after': '120' })).toEqual({ kind: 'retry', retryAfterSeconds: 120 })
  const date = 'Thu, 19 Nov 2026 08:00:00 GMT'
  expect(judge(503, { 'retry-after': 'Thu, 19 Nov 2026 08:01:30 GMT', date })).toEqual({
    kind: 'retry',
    retryAfterSeconds: 90,
  })
  for (const value of ['-5', 'soon', '1e9', 'Thu, 19 Nov 2026 07:00:00 GMT'])
    expect(judge(503, { 'retry-after': value, date })).toEqual({ kind: 'retry', retryAfterSeconds: 0 })
})
