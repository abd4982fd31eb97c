import { expect, test } from 'vitest'

import { readWords } from './read-words.ts'

test('words are recognized by their form', () => {
  expect(readWords(' ')).toEqual({ kind: 'nothing' })
  expect(readWords('req_01a1f4ef-4261')).toMatchObject({ kind: 'request' })
  expect(readWords(' vidB-2:1795110031-00m7O4eDMLHvqT ')).toEqual({
    kind: 'task',
    value: 'vidB-2:1795110031-00m7O4eDMLHvqT',
  })
  expect(readWords('/v1/videos')).toMatchObject({ kind: 'path' })
  expect(readWords('127.0.0.1')).toMatchObject({ kind: 'address' })
  expect(readWords('2001:db8::1')).toMatchObject({ kind: 'address' })
  expect(readWords('whales')).toEqual({ kind: 'unknown' })
})
