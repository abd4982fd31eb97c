import { existsSync } from 'node:fs'

import { expect, test } from 'vitest'

import { slow } from './test-order.ts'

test('every file that is listed as slow exists', () => {
  expect(slow.filter((file) => !existsSync(new URL(`../${file}`, import.meta.url)))).toEqual([])
})
