import { expect, test } from 'vitest'

import { describeService, unusable } from './service-address.ts'

test.each([
  ['postgres://kinora:secret@db.example:5432/kinora?sslmode=require', 'db.example:5432/kinora'],
  ['redis://:secret@cache.example:6379/1', 'cache.example:6379/1'],
  ['rediss://cache.example', 'cache.example'],
  ['http://user:secret@[::1]:8080/', '[::1]:8080'],
])('the address of %s has no credentials', (url, address) => {
  expect(describeService('A service', 'ITS_URL', url)).toBe(`A service at ${address} (ITS_URL)`)
})

test.each(['postgres:///kinora?host=/run/postgresql&password=secret', 'nonsense secret'])(
  'without a host, only the setting is named (%s)',
  (url) => {
    expect(describeService('PostgreSQL', 'DATABASE_URL', url)).toBe('PostgreSQL (DATABASE_URL)')
  },
)

test('the reason of an error without a message is its code', () => {
  const error = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' })
  expect(unusable('Redis (REDIS_URL)', error).message).toBe(
    'Redis (REDIS_URL) cannot be used: ECONNREFUSED. Check that it is running and that the setting is correct.',
  )
})
