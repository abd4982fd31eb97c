import { expect, test } from 'vitest'

import { Secret } from '../platform/secret.ts'
import { readCursor, writeCursor } from './event-cursor.ts'

const secrets = [new Secret('a secret of tests, the newest'), new Secret('a secret of tests, an old one')]
const place = { position: '281474976711656', number: '9007199254740993', at: new Date(1_798_761_600_123) }

test('a cursor has the position that was written, and equal positions have equal cursors', () => {
  const cursor = writeCursor(secrets, 'one', place)
  expect(cursor).toMatch(/^[\w-]{54}$/)
  expect(readCursor(secrets, 'one', cursor)).toEqual(place)
  expect(writeCursor(secrets, 'one', place)).toBe(cursor)
})

test('cursors of two readers have nothing in common, and one cannot use that of the other', () => {
  const cursor = writeCursor(secrets, 'one', place)
  expect(writeCursor(secrets, 'other', place).slice(0, 8)).not.toBe(cursor.slice(0, 8))
  expect(readCursor(secrets, 'other', cursor)).toBeUndefined()
})

test('a cursor of an old secret is read as long as that is configured', () => {
  const cursor = writeCursor(secrets.slice(1), 'one', place)
  expect(readCursor(secrets, 'one', cursor)).toEqual(place)
  expect(readCursor(secrets.slice(0, 1), 'one', cursor)).toBeUndefined()
})

test('a changed cursor is no cursor', () => {
  const cursor = writeCursor(secrets, 'one', place)
  for (let index = 0; index < 53; index += 1) {
    const changed = `${cursor.slice(0, index)}${cursor[index] === 'A' ? 'B' : 'A'}${cursor.slice(index + 1)}`
    expect(readCursor(secrets, 'one', changed)).toBeUndefined()
  }
  for (const text of ['', 'A'.repeat(54), cursor.slice(1)])
    expect(readCursor(secrets, 'one', text)).toBeUndefined()
})
