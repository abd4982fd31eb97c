import { expect, test } from 'vitest'

import { failureOfAnswer, failureOfOurs, retryAfterMs } from './classify.ts'
import { redactor } from './redact.ts'

const error = (parts: Record<string, unknown>) => ({ error: parts })

test.each([
  [400, error({ code: 'moderation_blocked' }), 'moderated', 'content_policy_violation'],
  [
    400,
    error({ code: 'content_policy_violation', type: 'image_generation_user_error' }),
    'moderated',
    'content_policy_violation',
  ],
  [422, error({ code: 'InputTextSensitiveContentDetected' }), 'moderated', 'content_policy_violation'],
  [
    400,
    { error: 'Your prompt was blocked by our moderation system.' },
    'moderated',
    'content_policy_violation',
  ],
  [403, error({ code: 'content_filter' }), 'moderated', 'content_policy_violation'],
  [400, error({ code: 'invalid_image_format' }), 'rejected', 'invalid_image'],
  [413, error({ code: 'image_too_large' }), 'rejected', 'invalid_image'],
  [400, error({ code: 'invalid_value', param: 'input_reference' }), 'rejected', 'invalid_image'],
  [400, error({ code: 'image_generation_disabled' }), 'rejected', 'upstream_error'],
  [400, error({ code: 'invalid_value', param: 'seconds' }), 'rejected', 'invalid_parameter'],
  [400, error({ code: 'missing_required_parameter', param: null }), 'rejected', 'invalid_parameter'],
  [
    422,
    { detail: [{ loc: ['body', 'prompt'], msg: 'too long', type: 'value_error' }] },
    'rejected',
    'invalid_parameter',
  ],
  [400, error({ code: null, type: 'invalid_request_error' }), 'rejected', 'upstream_error'],
  [404, error({ code: 'model_not_found', param: 'model' }), 'rejected', 'upstream_error'],
  [400, error({ code: 'context_length_exceeded', param: 'messages' }), 'rejected', 'context_length_exceeded'],
  [400, error({ code: 'max_output_tokens' }), 'rejected', 'output_length_exceeded'],
  [400, undefined, 'rejected', 'upstream_error'],
  [404, { detail: 'Not Found' }, 'rejected', 'upstream_error'],
  [409, error({ code: 'conflict' }), 'rejected', 'upstream_error'],
  [413, undefined, 'rejected', 'upstream_error'],
  [401, error({ code: 'invalid_value', param: 'seconds' }), 'unauthorized', 'upstream_error'],
  [402, error({ code: 'moderation_blocked' }), 'rejected', 'upstream_error'],
  [403, error({ code: 'invalid_value', param: 'seconds' }), 'unauthorized', 'upstream_error'],
  [
    403,
    {
      code: 'The caller does not have permission to execute the specified operation',
      error: 'Content violates usage guidelines. Failed check: SAFETY_CHECK_TYPE_BIO',
    },
    'moderated',
    'content_policy_violation',
  ],
  [403, undefined, 'rejected', 'upstream_error'],
  [409, error({ code: 'idempotency_key_in_use' }), 'unknown', undefined],
  [409, error({ code: 'request_in_progress' }), 'unknown', undefined],
  [408, undefined, 'unknown', undefined],
  [429, error({ code: 'rate_limit_exceeded' }), 'busy', undefined],
  [503, undefined, 'busy', undefined],
  [500, error({ code: 'moderation_blocked' }), 'unknown', undefined],
  [502, undefined, 'unknown', undefined],
  [504, undefined, 'unknown', undefined],
  [302, undefined, 'unknown', undefined],
])('%i with %j is %s, %s', (status, body, kind, code) => {
  const failure = failureOfAnswer({ what: 'submit', status, headers: {}, body }, (text) => text)
  expect(failure).toMatchObject({ kind, code })
})

test('a definite failure of another gateway is rejected', () => {
  const answer = { what: 'submit', status: 502, body: error({ code: 'upstream_error' }) }
  const hide = (text: string) => text
  const certain = failureOfAnswer({ ...answer, headers: { 'x-should-retry': 'false' } }, hide)
  expect(certain).toMatchObject({ kind: 'rejected', code: 'upstream_error' })
  expect(failureOfAnswer({ ...answer, headers: {} }, hide)).toMatchObject({ kind: 'unknown' })
})

test.each([
  [{ 'retry-after': '2' }, 2000],
  [{ 'retry-after': '0.5' }, 500],
  [{ 'retry-after': '2', 'retry-after-ms': '250' }, 250],
  [{ 'retry-after': 'Thu, 01 Jan 2026 00:00:10 GMT', date: 'Thu, 01 Jan 2026 00:00:00 GMT' }, 10_000],
  [{ 'retry-after': new Date(Date.now() + 86_400_000_000).toUTCString() }, 86_400_000],
  [{ 'retry-after': 'Wed, 31 Dec 2025 23:00:00 GMT' }, 0],
  [{ 'retry-after': 'soon' }, undefined],
  [{}, undefined],
])('%j is a retry delay of %s ms', (headers, expected) => {
  expect(retryAfterMs(headers)).toBe(expected)
})

test('a message never contains the host, the key or a query string', () => {
  const redact = redactor(['sk-secret-1234', 'api.vendor.example'])
  const body = error({
    code: 'nope',
    message:
      'Key sk-secret-1234 (sk-other-99999***) at api.vendor.example\n, see https://x.example/a?token=b or /v1/videos?sig=c&d=e',
  })
  const { message } = failureOfAnswer({ what: 'submit', status: 400, headers: {}, body }, redact)
  expect(message).toBe(
    'submit answered 400: nope: Key [key] ([key]) at [hidden] , see [url] or /v1/videos?[query]',
  )
  expect(redact('x'.repeat(5000)).length).toBeLessThan(250)
})

test.each([
  ['org-9aBcDeF12345 is over its limit', '[account] is over its limit'],
  ['write to billing.team@vendor.example', 'write to [mail]'],
  ['quota of projects/clips-77/locations/eu', 'quota of projects/[account]/locations/eu'],
  ['token 0123456789abcdef0123456789abcdef!', 'token [token]!'],
  ['token q83vEjRWeJCrze8SNFZ4kKvN7xI0VniQqw==.', 'token [token].'],
  ['job 6f1c2f5e-9a3b-4c5d-8e7f-001122334455', 'job 6f1c2f5e-9a3b-4c5d-8e7f-001122334455'],
  ['content_policy_violation_in_the_second_picture', 'content_policy_violation_in_the_second_picture'],
  ['the user-defined organisation', 'the user-defined organisation'],
])('%s is shown as: %s', (text, shown) => {
  expect(redactor([])(text)).toBe(shown)
})

test.each([
  [400, { code: 'invalid_parameter', message: 'Too fast.' }, 'rejected', 'invalid_parameter', 'Too fast.'],
  [400, { code: 'content_policy_violation', message: 'No.' }, 'moderated', 'content_policy_violation', 'No.'],
  [503, { code: 'weights_missing', message: 'Pull them.' }, 'rejected', 'service_unavailable', 'Pull them.'],
  [503, { code: 'busy', message: 'All are busy.' }, 'busy', undefined, 'All are busy.'],
  [500, { code: 'internal_error', message: 'It fell over.' }, 'unknown', undefined, undefined],
])(
  'a provider of ours that answers %i %j is quoted where a caller can use it',
  (status, parts, ...expected) => {
    const failure = failureOfOurs({ what: 'speech', status, headers: {}, body: error(parts) }, redactor([]))
    expect([failure.kind, failure.code, failure.forCaller]).toEqual(expected)
  },
)

test('a text cut inside an emoji is still valid for PostgreSQL', () => {
  const cut = redactor([])(`${'a'.repeat(199)}😀 and more`)
  expect(cut.isWellFormed()).toBe(true)
  expect(redactor([])('half \ud83d').isWellFormed()).toBe(true)
})
