import { expect, test } from 'vitest'

import { parseSentinelUrl, redisUrlProblem } from './redis-url.ts'

test('sentinels, the name of the primary, its database and passwords', () => {
  const url = 'redis+sentinel://user:p%40ss@s-1:26380,s-2/kinora/3?sentinel_password=other%2F'
  expect(parseSentinelUrl(url)).toEqual({
    sentinels: [
      { host: 's-1', port: 26_380 },
      { host: 's-2', port: 26_379 },
    ],
    ...{ name: 'kinora', db: 3, username: 'user', password: 'p@ss', sentinelPassword: 'other/' },
  })
  expect(parseSentinelUrl('redis+sentinel://:secret@s-1/kinora')).toMatchObject({ db: 0, password: 'secret' })
  expect(parseSentinelUrl('redis://redis:6379')).toBeUndefined()
})

test('sentinels without the name of the primary are refused', () => {
  expect(redisUrlProblem('redis+sentinel://s-1:26379')).toContain('must name the sentinels and the primary')
  expect(redisUrlProblem('redis+sentinel://s-1:x/kinora')).toContain('must name')
  expect(redisUrlProblem('redis+sentinel://s-1/kinora')).toBeUndefined()
  expect(redisUrlProblem('redis://redis:6379')).toBeUndefined()
})
