import { expect, test } from 'vitest'

import { ApiError, errors, type ErrorCode } from './errors.ts'

// The table of the reference. Statuses and types that it leaves open are our decisions.
const reference: [ErrorCode, number, string][] = [
  ['invalid_api_key', 401, 'authentication_error'],
  ['missing_api_key', 401, 'authentication_error'],
  ['expired_api_key', 401, 'authentication_error'],
  ['quota_exceeded', 402, 'billing_error'],
  ['insufficient_balance', 402, 'billing_error'],
  ['subscription_expired', 402, 'billing_error'],
  ['payment_failed', 402, 'billing_error'],
  ['access_denied', 403, 'permission_error'],
  ['model_access_denied', 403, 'permission_error'],
  ['ip_not_allowed', 403, 'permission_error'],
  ['account_suspended', 403, 'permission_error'],
  ['audio_requires_payg', 403, 'permission_error'],
  ['model_not_found', 404, 'invalid_request_error'],
  ['endpoint_not_found', 404, 'invalid_request_error'],
  ['invalid_request', 400, 'invalid_request_error'],
  ['invalid_parameter', 400, 'invalid_request_error'],
  ['missing_parameter', 400, 'invalid_request_error'],
  ['context_length_exceeded', 400, 'invalid_request_error'],
  ['invalid_image', 400, 'invalid_request_error'],
  ['voice_not_supported', 400, 'invalid_request_error'],
  ['invalid_file_format', 400, 'invalid_request_error'],
  ['rate_limit_exceeded', 429, 'rate_limit_error'],
  ['internal_error', 500, 'server_error'],
  ['upstream_error', 502, 'server_error'],
  ['service_unavailable', 503, 'server_error'],
  ['model_overloaded', 503, 'server_error'],
  ['content_policy_violation', 400, 'content_policy_error'],
  ['output_length_exceeded', 400, 'invalid_request_error'],
]

test.each(reference)('%s has status %i and type %s', (code, status, type) => {
  expect(errors[code]).toMatchObject({ status, type })
})

test('every error has a message and a hint in full sentences', () => {
  for (const { message, hint } of Object.values(errors)) {
    expect(message).toMatch(/^[A-Z].*\.$/)
    expect(hint).toMatch(/^[A-Z].*\.$/)
  }
})

test('an error has a message, a parameter, headers and a cause', () => {
  const cause = new Error('inside')
  const error = new ApiError('invalid_image', { param: 'images[1]', cause, headers: { 'retry-after': '1' } })
  expect(error).toMatchObject({
    message: 'The image is invalid.',
    code: 'invalid_image',
    param: 'images[1]',
    headers: { 'retry-after': '1' },
    cause,
  })
  expect(new ApiError('invalid_image', { message: 'Too large.' }).message).toBe('Too large.')
})
