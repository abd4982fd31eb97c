import { execFileSync } from 'node:child_process'

import { expect, test } from 'vitest'

import { imageHeadBytes, imageSizeOf } from './image-size.ts'

const program = 'ffmpeg'

const drawn = (args: string[], size: string): Buffer =>
  execFileSync(program, [
    ...['-v', 'error', '-f', 'lavfi', '-i', `color=red:size=${size}`, '-frames:v', '1'],
    ...[...args, 'pipe:1'],
  ])

const jpeg = drawn(['-c:v', 'mjpeg', '-f', 'image2pipe'], '320x200')

/** The same image with an EXIF orientation. */
const withOrientation = (orientation: number): Buffer => {
  const block = Buffer.from(
    `4578696600004d4d002a0000000800010112000300000001000${orientation}000000000000`,
    'hex',
  )
  const head = Buffer.from([0xff, 0xe1, 0, block.length + 2])
  return Buffer.concat([jpeg.subarray(0, 2), head, block, jpeg.subarray(2)])
}

test.each([
  ['image/png', drawn(['-c:v', 'png', '-f', 'image2pipe'], '320x200')],
  ['image/gif', drawn(['-f', 'gif'], '320x200')],
  ['image/jpeg', jpeg],
  ['image/jpeg', withOrientation(1)],
  ['image/webp', drawn(['-c:v', 'libwebp', '-lossless', '0', '-f', 'webp'], '320x200')],
  ['image/webp', drawn(['-c:v', 'libwebp', '-lossless', '1', '-f', 'webp'], '320x200')],
])('the size of %s is read from its first bytes', (contentType, bytes) => {
  expect(imageSizeOf(contentType, bytes.subarray(0, imageHeadBytes))).toEqual({ width: 320, height: 200 })
})

test('a rotated photograph has its display size', () => {
  expect(imageSizeOf('image/jpeg', withOrientation(6))).toEqual({ width: 200, height: 320 })
})

test.each(['image/png', 'image/gif', 'image/jpeg', 'image/webp', 'image/tiff'])(
  'a truncated or unknown header has no size: %s',
  (contentType) => {
    expect(imageSizeOf(contentType, Buffer.from('RIFF----WEBPVP8 '.slice(0, 4)))).toBeUndefined()
    expect(imageSizeOf('image/jpeg', jpeg.subarray(0, 40))).toBeUndefined()
    expect(imageSizeOf('image/webp', Buffer.from('RIFF----WEBPVP8?'))).toBeUndefined()
  },
)
