import fc from 'fast-check'
import { expect, test } from 'vitest'

import { isAddressAllowed } from './caller.ts'

test('a key without a list may be used from any address', () => {
  fc.assert(fc.property(fc.string(), (address) => isAddressAllowed({ addresses: undefined }, address)))
})

test('with a list, only addresses in it are allowed, in any notation', () => {
  const addresses = ['10.0.0.0/8', '192.0.2.1', '2001:db8::/32']
  fc.assert(
    fc.property(fc.ipV4(), (address) => {
      const isInside = address.startsWith('10.') || address === '192.0.2.1'
      expect(isAddressAllowed({ addresses }, address)).toBe(isInside)
      expect(isAddressAllowed({ addresses }, `::ffff:${address}`)).toBe(isInside)
    }),
  )
  expect(isAddressAllowed({ addresses }, '2001:db8::1')).toBe(true)
  expect(isAddressAllowed({ addresses }, '2001:0DB8:0:0:0:0:0:1')).toBe(true)
  expect(isAddressAllowed({ addresses }, '2001:db9::1')).toBe(false)
})

test('with a list, an invalid address is never allowed', () => {
  const addresses = ['0.0.0.0/0', '::/0']
  for (const address of ['', 'unknown', 'localhost', '10.0.0.1:80', '[::1]', '10.0.0.1, 10.0.0.2']) {
    expect(isAddressAllowed({ addresses }, address)).toBe(false)
  }
})

test('an invalid range allows no address and does not throw', () => {
  fc.assert(
    fc.property(fc.string(), fc.ipV4(), (range, address) => {
      fc.pre(!/[\d:]/.test(range))
      return !isAddressAllowed({ addresses: [range] }, address)
    }),
  )
})
