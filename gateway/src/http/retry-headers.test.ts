import { ApiError, errors, type ErrorCode } from '@kinora/contract/errors'
import { expect, test } from 'vitest'

import { withRetryHeaders } from './retry-headers.ts'

const headersOf = (code: ErrorCode, headers: Record<string, string> = {}) =>
  withRetryHeaders(new ApiError(code, { headers }))

test('x-should-retry is true only if a later attempt can succeed', () => {
  const worthRetrying = (Object.keys(errors) as ErrorCode[]).filter(
    (code) => headersOf(code)['x-should-retry'] === 'true',
  )
  expect(worthRetrying).toEqual([
    ...['request_in_progress', 'rate_limit_exceeded', 'internal_error'],
    ...['upstream_error', 'service_unavailable', 'model_overloaded'],
  ])
})

test('a wait that client libraries ignore is not worth a retry', () => {
  const longest = headersOf('rate_limit_exceeded', { 'retry-after': '60' })
  expect(longest).toMatchObject({ 'x-should-retry': 'true', 'retry-after-ms': '60000' })
  expect(headersOf('rate_limit_exceeded', { 'retry-after': '61' })['x-should-retry']).toBe('false')
})

test('what the error says itself counts', () => {
  expect(headersOf('upstream_error', { 'x-should-retry': 'false' })['x-should-retry']).toBe('false')
  const exact = { 'retry-after': '2', 'retry-after-ms': '1250' }
  expect(headersOf('rate_limit_exceeded', exact)).toMatchObject(exact)
})

test('every Retry-After has its milliseconds, never less and at most a tenth more', () => {
  expect(headersOf('invalid_parameter')).toEqual({ 'x-should-retry': 'false' })
  expect(headersOf('model_overloaded')).toMatchObject({ 'retry-after': '1' })
  const waits = Array.from({ length: 50 }, () =>
    Number(headersOf('service_unavailable', { 'retry-after': '30' })['retry-after-ms']),
  )
  for (const ms of waits) expect(ms >= 30_000 && ms <= 33_000, String(ms)).toBe(true)
  expect(new Set(waits).size).toBeGreaterThan(1)
})
