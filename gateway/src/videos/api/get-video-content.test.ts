import { expect, test } from 'vitest'

import { prefersBytes } from './get-video-content.ts'

test.each([
  'application/binary',
  'application/octet-stream',
  'video/*',
  'video/mp4',
  'VIDEO/MP4; q=0.4',
  'video/mp4, */*',
  'application/json;q=0.5, application/binary',
])('sends bytes for Accept: %s', (accept) => {
  expect(prefersBytes(accept)).toBe(true)
})

test.each([
  undefined,
  '',
  '*/*',
  'application/json',
  'application/json, video/mp4',
  'application/binary;q=0.1, application/json;q=0.9',
  'application/binary;q=0',
  'text/html, image/avif, */*;q=0.8',
  'application/*',
  'video/mp4;q=nonsense',
])('sends JSON for Accept: %s', (accept) => {
  expect(prefersBytes(accept)).toBe(false)
})
