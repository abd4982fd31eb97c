import fc from 'fast-check'
import { expect, test } from 'vitest'

import { timeOfUuidV7, uuidV7 } from './uuid.ts'

const time = fc.integer({ min: 0, max: 2 ** 48 - 1 })

test('the time of an id can be read back', () => {
  fc.assert(fc.property(time, (atMs) => timeOfUuidV7(uuidV7(atMs)) === atMs))
})

test('ids are ordered by time', () => {
  fc.assert(
    fc.property(time, time, (one, other) => one === other || one < other === uuidV7(one) < uuidV7(other)),
  )
})

test('the same time and entropy give the same id, and the entropy is not modified', () => {
  const entropy = Buffer.alloc(32, 7)
  expect(uuidV7(1_000, entropy)).toBe(uuidV7(1_000, entropy))
  expect(entropy).toEqual(Buffer.alloc(32, 7))
})

test('other text has no time', () => {
  fc.assert(fc.property(fc.string(), (text) => timeOfUuidV7(text) === undefined))
  expect(timeOfUuidV7('0190163d-8694-4739-aea5-966c26f8ad90')).toBeUndefined()
  expect(timeOfUuidV7(uuidV7().toUpperCase())).toBeUndefined()
})
