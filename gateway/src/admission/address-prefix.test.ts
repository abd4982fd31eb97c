import { expect, test } from 'vitest'

import { addressPrefixOf } from './address-prefix.ts'

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['::ffff:192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2:ffff::1', '2001:db8:1:2::/64'],
  ['fe80::1%eth0', 'fe80::/64'],
  ['not an address', 'not an address'],
])('%s counts as %s', (address, prefix) => {
  expect(addressPrefixOf(address)).toBe(prefix)
})
