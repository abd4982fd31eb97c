import { expect, test } from 'vitest'

import { secondsFor } from './fit-seconds.ts'

const listed = [{ seconds: [4, 8, 12] }, { seconds: [5, 6] }]

test.each([
  ['as asked, where some route makes any length', [...listed, { seconds: undefined }], 7, 7],
  ['as asked, where a route makes it', listed, 5, 5],
  ['the next longer one that any of them makes', listed, 7, 8],
  ['none, where all are shorter', listed, 13, undefined],
])('%s', (_name, routes, asked, fitting) => {
  expect(secondsFor(routes, asked)).toBe(fitting)
})
