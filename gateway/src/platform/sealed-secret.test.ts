import fc from 'fast-check'
import { expect, test } from 'vitest'

import { openSecret, sealSecret, type SecretOwner } from './sealed-secret.ts'
import { Secret } from './secret.ts'

const older = new Secret('0123456789abcdef0123456789abcdef')
const newer = new Secret('fedcba9876543210fedcba9876543210')
const key = 'sk-of-acme-1234'

const ownerOf = (name: string): SecretOwner => ({ purpose: 'provider credential', name })
const seal = (secrets: Secret[], name: string, text: string) => {
  const sealed = sealSecret(secrets, ownerOf(name), new Secret(text))
  if (sealed === undefined) throw new Error('nothing was sealed')
  return sealed
}
const open = (secrets: Secret[], name: string, sealed: Buffer) =>
  openSecret(secrets, ownerOf(name), sealed)?.reveal()

test('a sealed key opens for its provider, and the sealed bytes do not contain its text', () => {
  fc.assert(
    fc.property(fc.string({ minLength: 4 }), fc.string({ unit: 'grapheme' }), (name, text) => {
      const sealed = seal([newer], name, text)
      expect(open([newer], name, sealed)).toBe(text)
      if (Buffer.byteLength(text) > 3) expect(sealed.includes(text)).toBe(false)
    }),
  )
})

test('the same key is sealed differently each time', () => {
  expect(seal([newer], 'acme', key).equals(seal([newer], 'acme', key))).toBe(false)
})

test('a sealed key does not open for another provider or purpose, or with another secret', () => {
  const sealed = seal([newer], 'acme', key)
  expect(open([newer], 'acme2', sealed)).toBeUndefined()
  expect(open([newer], '', sealed)).toBeUndefined()
  expect(openSecret([newer], { purpose: 'webhook secret', name: 'acme' }, sealed)).toBeUndefined()
  expect(open([older], 'acme', sealed)).toBeUndefined()
  expect(open([], 'acme', sealed)).toBeUndefined()
})

test('changed, removed or added bytes are detected', () => {
  const sealed = seal([newer], 'acme', key)
  for (const at of sealed.keys()) {
    const changed = Buffer.from(sealed)
    changed[at] = (changed[at] ?? 0) ^ 1
    expect(open([newer], 'acme', changed)).toBeUndefined()
    expect(open([newer], 'acme', sealed.subarray(0, at))).toBeUndefined()
  }
  expect(open([newer], 'acme', Buffer.concat([sealed, Buffer.of(0)]))).toBeUndefined()
})

test('the first secret seals, and an older one opens while it is listed', () => {
  const before = seal([older], 'acme', key)
  expect(open([newer, older], 'acme', before)).toBe(key)
  expect(open([newer], 'acme', before)).toBeUndefined()
  const after = seal([newer, older], 'acme', key)
  expect(open([newer], 'acme', after)).toBe(key)
})

test('without a secret, sealing returns undefined', () => {
  expect(sealSecret([], ownerOf('acme'), new Secret(key))).toBeUndefined()
})
