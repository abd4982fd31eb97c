import { expect, test } from 'vitest'

import { isKnownTag } from './entity-tag.ts'

test.each([
  ['"a"', '"a"', true],
  ['W/"a"', '"a"', true],
  ['"a"', 'W/"a"', true],
  ['"b", "a"', '"a"', true],
  ['*', '"a"', true],
  ['"b"', '"a"', false],
  ['', '"a"', false],
  [undefined, '"a"', false],
])('a reader who sends %s and the tag %s', (header, etag, isKnown) => {
  expect(isKnownTag(header, etag)).toBe(isKnown)
})
