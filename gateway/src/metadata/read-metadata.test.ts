import fc from 'fast-check'
import { expect, test } from 'vitest'

import { readMetadata } from './read-metadata.ts'

const value = fc.oneof(
  fc.boolean(),
  fc.integer(),
  fc.string({ maxLength: 500 }).filter((text) => !text.includes('\0')),
)
const key = fc.string({ minLength: 1, maxLength: 64 }).filter((text) => !text.includes('\0'))

test('an object and its JSON text are read unchanged', () => {
  fc.assert(
    fc.property(fc.dictionary(key, value, { maxKeys: 16 }), (given) => {
      expect(readMetadata(given)).toEqual(given)
      expect(readMetadata(JSON.stringify(given))).toEqual(JSON.parse(JSON.stringify(given)))
    }),
  )
})

test('missing and empty metadata is undefined', () => {
  expect(readMetadata(undefined)).toBeUndefined()
  expect(readMetadata('  ')).toBeUndefined()
})

test.each([
  ['invalid JSON', '{'],
  ['a list', '[]'],
  ['a list in JSON', []],
  ['null', 'null'],
  ['a number', '7'],
  ['seventeen keys', Object.fromEntries(Array.from({ length: 17 }, (_, index) => [`k${index}`, 1]))],
  ['an empty key', { '': 1 }],
  ['a key of 65 characters', { ['k'.repeat(65)]: 1 }],
  ['a value of 513 characters', { key: 'v'.repeat(513) }],
  ['a value that is an object', { key: {} }],
  ['a value that is null', '{"key":null}'],
  ['an infinite number', '{"key":1e999}'],
  ['a zero byte', { key: 'a\0b' }],
  ['a lone surrogate', { key: '\ud800' }],
  ['more than 16 KB of text', `{"key":1${' '.repeat(16 * 1024)}}`],
  [
    'more than 16 KB in all',
    Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`k${i}`, '😀'.repeat(512)])),
  ],
])('%s is refused as an invalid metadata parameter', (_, given) => {
  expect(() => readMetadata(given)).toThrow(
    expect.objectContaining({ code: 'invalid_parameter', param: 'metadata' }),
  )
})
