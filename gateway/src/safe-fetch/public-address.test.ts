import fc from 'fast-check'
import ipaddr from 'ipaddr.js'
import { describe, expect, it } from 'vitest'

import { isPublicAddress } from './public-address.ts'

type Range = [network: ipaddr.IPv4, prefix: number]

const octets = fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255))
const groups = fc.array(fc.nat(0xffff), { minLength: 8, maxLength: 8 })

const ordinaryAddresses = [
  '1.1.1.1',
  '8.8.8.8',
  '93.184.216.34',
  '100.63.255.255',
  '100.128.0.1',
  '172.15.255.255',
  '172.32.0.1',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450:4001:830::200e',
  '::ffff:8.8.8.8',
  '64:ff9b::808:808',
]

const refusedAddresses = [
  '127.0.0.1',
  '169.254.169.254',
  '168.63.129.16',
  '100.100.100.200',
  '192.0.0.192',
  '255.255.255.255',
  '::',
  '::1',
  '::127.0.0.1',
  '::8.8.8.8',
  '::ffff:10.0.0.1',
  '::ffff:a9fe:a9fe',
  '::ffff:0:8.8.8.8',
  '64:ff9b::7f00:1',
  '64:ff9b::',
  '64:ff9b:1::808:808',
  '2002:808:808::1',
  '2002:7f00:1::',
  '2001:0:4136:e378:8000:63bf:3fff:fdd2',
  'fd00:ec2::254',
  'fe80::1',
  'fe80::1%lo',
  '2606:4700:4700::1111%eth0',
  'fec0::1',
  'ff02::1',
  '4000::1',
  '3fff::1',
  '5f00::1',
  '100::1',
]

const notAddresses = [
  '',
  'localhost',
  '127.1',
  '2130706433',
  '0x7f000001',
  '1.2.3.4.',
  '[2606::1]',
  ' 1.1.1.1',
]

describe('isPublicAddress', () => {
  it.each(ordinaryAddresses)('accepts %s', (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })

  it.each([...refusedAddresses, ...notAddresses])('refuses %j', (address) => {
    expect(isPublicAddress(address)).toBe(false)
  })

  it('agrees with ipaddr.js across the whole IPv4 space', () => {
    for (let block = 0; block < 2 ** 24; block += 499) {
      expectSameAsIpaddr(`${block >> 16}.${(block >> 8) & 0xff}.${block & 0xff}.17`)
    }
  })

  it('agrees with ipaddr.js about random IPv4 addresses', () => {
    fc.assert(
      fc.property(octets, (parts) => expectSameAsIpaddr(parts.join('.'))),
      { numRuns: 5_000 },
    )
  })

  it('agrees with ipaddr.js at the edges of every IPv4 range it knows', () => {
    // Missing from the library's type declarations.
    const { SpecialRanges } = ipaddr.IPv4.prototype as unknown as { SpecialRanges: Record<string, Range[]> }
    const ranges = Object.values(SpecialRanges).flat()
    expect(ranges.length).toBeGreaterThan(15)
    for (const [network, prefix] of ranges) {
      const first = network.octets.reduce((sum, octet) => sum * 256 + octet, 0)
      const last = first + 2 ** (32 - prefix) - 1
      for (const value of [first - 1, first, last, last + 1]) {
        if (value >= 0 && value < 2 ** 32) expectSameAsIpaddr(dotted(value))
      }
    }
  })

  it('never accepts an IPv6 address that ipaddr.js would not', () => {
    // Half of the addresses lie in the global block and the well-known special prefixes, where it matters.
    const prefixes = [
      [0x2001],
      [0x2001, 0xdb8],
      [0x2002],
      [0x64, 0xff9b],
      [0x3fff],
      [0x2606],
      [0, 0, 0, 0, 0, 0xffff],
    ]
    const anyAddress = fc
      .tuple(fc.constantFrom([], ...prefixes), groups, fc.boolean())
      .map(([prefix, rest, sparse]) => [...prefix, ...(sparse ? [0, 0, 0, 0, 0, 0, 0, 1] : rest)].slice(0, 8))
    fc.assert(
      fc.property(anyAddress, (parts) => {
        const address = parts.map((part) => part.toString(16)).join(':')
        expect(isPublicAddress(address)).toBe(isPublicByIpaddr(address))
      }),
      { numRuns: 20_000 },
    )
  })

  it('reads every spelling of a mapped address as the IPv4 address in it', () => {
    fc.assert(
      fc.property(octets, ([a, b, c, d]) => {
        const plain = isPublicAddress(`${a}.${b}.${c}.${d}`)
        const hex = `${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`
        expect(isPublicAddress(`::ffff:${a}.${b}.${c}.${d}`)).toBe(plain)
        expect(isPublicAddress(`0:0:0:0:0:FFFF:${hex}`)).toBe(plain)
        expect(isPublicAddress(`64:ff9b::${hex}`)).toBe(plain)
        expect(isPublicAddress(`::${a}.${b}.${c}.${d}`)).toBe(false)
        expect(isPublicAddress(`2002:${hex}::1`)).toBe(false)
      }),
    )
  })
})

function expectSameAsIpaddr(address: string) {
  expect(isPublicAddress(address), address).toBe(isPublicByIpaddr(address))
}

/** A second implementation: unicast by ipaddr.js, minus the ranges that we also exclude. */
function isPublicByIpaddr(address: string): boolean {
  if (address === '168.63.129.16') return false
  const parsed = ipaddr.parse(address)
  if (parsed instanceof ipaddr.IPv4) return parsed.range() === 'unicast'
  if (parsed.isIPv4MappedAddress()) return isPublicByIpaddr(parsed.toIPv4Address().toString())
  if (parsed.match(ipaddr.IPv6.parse('64:ff9b::'), 96)) {
    return isPublicByIpaddr(parsed.toByteArray().slice(12).join('.'))
  }
  return parsed.range() === 'unicast' && parsed.match(ipaddr.IPv6.parse('2000::'), 3)
}

function dotted(value: number): string {
  return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.')
}
