import fc from 'fast-check'
import { expect, test } from 'vitest'

import { Secret } from '../platform/secret.ts'
import { base62 } from '../platform/text/random-text.ts'
import { createKeyText, hashKey, hintOf, isKeyText } from './key-text.ts'

const kind = fc.constantFrom('payg' as const, 'subscription' as const, 'admin' as const)

test('keys have the prefix of their kind and a valid checksum', () => {
  expect(createKeyText('payg')).toMatch(/^sk-[0-9A-Za-z]{36}$/)
  expect(createKeyText('subscription')).toMatch(/^sk-sub-[0-9A-Za-z]{36}$/)
  expect(createKeyText('admin')).toMatch(/^sk-admin-[0-9A-Za-z]{36}$/)
  fc.assert(fc.property(kind, (each) => isKeyText(createKeyText(each))))
})

test('any single mistyped character fails the checksum', () => {
  fc.assert(
    fc.property(kind, fc.nat(), fc.constantFrom(...base62.split('')), (each, position, letter) => {
      const text = createKeyText(each)
      const at = position % text.length
      fc.pre(text[at] !== letter)
      return !isKeyText(text.slice(0, at) + letter + text.slice(at + 1))
    }),
  )
})

test('two swapped neighbouring characters fail the checksum', () => {
  fc.assert(
    fc.property(kind, fc.nat(), (each, position) => {
      const text = createKeyText(each)
      const at = position % (text.length - 1)
      fc.pre(text[at] !== text[at + 1])
      return !isKeyText(text.slice(0, at) + text[at + 1] + text[at] + text.slice(at + 2))
    }),
  )
})

test('other text is not a key', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => !isKeyText(text)))
  expect(isKeyText(` ${createKeyText('payg')}`)).toBe(false)
  expect(isKeyText(`${createKeyText('payg')}\n`)).toBe(false)
})

test('a hash depends on the key and on the secret', () => {
  const text = createKeyText('payg')
  const [one, other] = [new Secret('one'), new Secret('other')]
  expect(hashKey(text, one)).toEqual(hashKey(text, one))
  expect(hashKey(text, one)).not.toEqual(hashKey(text, other))
  expect(hashKey(text, one)).not.toEqual(hashKey(createKeyText('payg'), one))
})

test('the hint shows only four characters', () => {
  const text = createKeyText('payg')
  expect(hintOf(text)).toBe(`…${text.slice(-4)}`)
})
