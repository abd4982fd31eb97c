import { expect, test } from 'vitest'

import { aspectRatioOf } from './size-terms.ts'

test.each([
  [1280, 720, '16:9'],
  [720, 1280, '9:16'],
  [1792, 1024, '16:9'],
  [1024, 1792, '9:16'],
  [1080, 1080, '1:1'],
  [1000, 300, '10:3'],
])('%d by %d is %s', (width, height, ratio) => {
  expect(aspectRatioOf({ width, height })).toBe(ratio)
})
