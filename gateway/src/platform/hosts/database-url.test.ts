import { expect, test } from 'vitest'

import { hostsProblem, hostUrlsOf, splitPassword, withPassword } from './database-url.ts'

const several = 'postgres://kinora:p%40ss@db-1:5432,db-2/kinora?sslmode=require'

test('a list of hosts has a URL for each', () => {
  expect(hostUrlsOf(several)).toEqual([
    'postgres://kinora:p%40ss@db-1:5432/kinora?sslmode=require',
    'postgres://kinora:p%40ss@db-2/kinora?sslmode=require',
  ])
  expect(hostUrlsOf('postgres:///kinora')).toEqual(['postgres:///kinora'])
})

test('a password is set for all hosts, and taken out for programs', () => {
  expect(withPassword('postgres://kinora@db-1:5432,db-2/kinora', 'p@ss,/')).toBe(
    'postgres://kinora:p%40ss%2C%2F@db-1:5432,db-2/kinora',
  )
  expect(withPassword('postgres:///kinora', 'p')).toBeUndefined()
  expect(splitPassword(several)).toEqual({
    url: 'postgres://kinora@db-1:5432,db-2/kinora?sslmode=require',
    password: 'p@ss',
  })
  expect(splitPassword('postgres://db/kinora')).toEqual({ url: 'postgres://db/kinora' })
})

test('a list with something that is not a host is refused with that part', () => {
  expect(hostsProblem(several)).toBeUndefined()
  expect(hostsProblem('postgres://[::1]:5432,db-2:5432/kinora')).toBeUndefined()
  expect(hostsProblem('postgres://db-1:5432,/kinora')).toContain('got the host ""')
  expect(hostsProblem('postgres://db-1,db 2/kinora')).toContain('got the host "db 2"')
})

test('a comma elsewhere makes no list of hosts', () => {
  expect(hostsProblem('postgres:///kinora?host=/run/postgresql&options=-c%20search_path=a,b')).toBeUndefined()
  expect(hostsProblem('postgres://kinora:a,b@db/kinora?application_name=a,b')).toBeUndefined()
})

test('a problem with the hosts does not quote what may be a password', () => {
  for (const url of [
    'postgres://kinora:hun,ter/@db/kinora',
    'postgres://kinora:12,ter!/x@db/kinora',
    'postgres://kinora:hun,ter/kinora',
  ]) {
    const problem = hostsProblem(url)
    expect(problem).toContain('must name each host')
    expect(problem).not.toMatch(/hun|ter/)
  }
})
