import { afterEach, expect, test } from 'vitest'

import { allowLinkLocal, linkLocalCode, lookUpProvider, problemWithHost } from './link-local.ts'

afterEach(() => allowLinkLocal(false))

/** The code of the error, or the addresses. An address is found without a DNS server. */
const lookUp = (hostname: string) =>
  new Promise((resolve) => {
    lookUpProvider(hostname, { all: true }, (error, found) => resolve(error === null ? found : error.code))
  })

test('a name with a link-local address is refused when it is looked up', async () => {
  expect(await lookUp('169.254.169.254')).toBe(linkLocalCode)
  expect(await lookUp('127.0.0.1')).toEqual([{ address: '127.0.0.1', family: 4 }])
})

test.each([
  '169.254.0.1',
  '[fe80::1]',
  '[::ffff:169.254.169.254]',
  '[64:ff9b::a9fe:a9fe]',
  '168.63.129.16',
  '[fd00:ec2::254]',
])('the host %s is refused', (host) => {
  expect(problemWithHost(host)).toMatchObject({ code: linkLocalCode })
})

test.each(['127.0.0.1', '[::1]', '10.0.0.1', '192.168.0.1', '[fd00::1]', '93.184.215.14', 'localhost'])(
  'the host %s is not refused',
  (host) => {
    expect(problemWithHost(host)).toBeUndefined()
  },
)

test('the setting allows all of them', async () => {
  allowLinkLocal(true)
  expect(problemWithHost('169.254.169.254')).toBeUndefined()
  expect(await lookUp('169.254.169.254')).toEqual([{ address: '169.254.169.254', family: 4 }])
})
