import { execFileSync } from 'node:child_process'

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'

import { createImageScan, imageTypeOf } from './image-scan.ts'

const program = 'ffmpeg'

const drawn = (args: string[]): Buffer =>
  execFileSync(program, [
    ...['-v', 'error', '-f', 'lavfi', '-i', 'testsrc=size=48x32:rate=5', ...args, 'pipe:1'],
  ])
const one = ['-frames:v', '1']

const jpeg = drawn([...one, '-c:v', 'mjpeg', '-f', 'image2pipe'])
/** Has ten scans with tables between them. */
const progressive = Buffer.from(
  '/9j/2wBDACgcHiMeGSgjISMtKygwPGRBPDc3PHtYXUlkkYCZlo+AjIqgtObDoKrarYqMyP/L2u71////m8H////6/+b9//j/2wBDASstLTw1PHZBQXb4pYyl+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj/wgARCAAQABADASIAAhEBAxEB/8QAFQABAQAAAAAAAAAAAAAAAAAAAAH/xAAVAQEBAAAAAAAAAAAAAAAAAAACA//aAAwDAQACEAMQAAABoNf/xAAWEAEBAQAAAAAAAAAAAAAAAAACABL/2gAIAQEAAQUCJ1I5isyWr//EABYRAAMAAAAAAAAAAAAAAAAAAAARIf/aAAgBAwEBPwGs/8QAFBEBAAAAAAAAAAAAAAAAAAAAAP/aAAgBAgEBPwF//8QAFBABAAAAAAAAAAAAAAAAAAAAIP/aAAgBAQAGPwIf/8QAFxABAQEBAAAAAAAAAAAAAAAAMQEAIf/aAAgBAQABPyF1vM6GNTGhv//aAAwDAQACAAMAAAAQ+//EABURAQEAAAAAAAAAAAAAAAAAAACR/9oACAEDAQE/EJv/xAAWEQADAAAAAAAAAAAAAAAAAAAAESH/2gAIAQIBAT8QiP/EABcQAQEBAQAAAAAAAAAAAAAAAAEhAEH/2gAIAQEAAT8QuQCTumRVLzXAqs5pgQW93//Z',
  'base64',
)
const segment = (marker: number, content: Buffer) =>
  Buffer.concat([Buffer.of(0xff, marker, (content.length + 2) >> 8, (content.length + 2) & 0xff), content])
/** Contains a complete JPEG in a segment, like the thumbnails of cameras, and a padded marker. */
const photograph = Buffer.concat([
  jpeg.subarray(0, 2),
  segment(0xe1, Buffer.concat([Buffer.from('Exif\0\0'), progressive])),
  Buffer.of(0xff, 0xff),
  jpeg.subarray(2),
])

const images: [string, string, Buffer][] = [
  ['PNG', 'image/png', drawn([...one, '-c:v', 'png', '-f', 'image2pipe'])],
  ['animated PNG', 'image/png', drawn(['-frames:v', '3', '-c:v', 'apng', '-f', 'apng'])],
  ['JPEG', 'image/jpeg', jpeg],
  ['progressive JPEG', 'image/jpeg', progressive],
  ['JPEG with a thumbnail', 'image/jpeg', photograph],
  ['GIF', 'image/gif', drawn([...one, '-f', 'gif'])],
  ['animated GIF', 'image/gif', drawn(['-frames:v', '3', '-f', 'gif'])],
  ['WebP', 'image/webp', drawn([...one, '-c:v', 'libwebp', '-lossless', '0', '-f', 'webp'])],
  ['lossless WebP', 'image/webp', drawn([...one, '-c:v', 'libwebp', '-lossless', '1', '-f', 'webp'])],
]
const webp = images[7]![2]
/** The output of a program that could not seek back to fill in the size. */
const piped = Buffer.from(webp)
piped.writeUInt32LE(0, 4)
images.push(['WebP that was piped', 'image/webp', piped])

const scanned = (bytes: Buffer, chunkBytes = bytes.length) => {
  const scan = createImageScan()
  for (let at = 0; at < bytes.length; at += chunkBytes) scan.scan(bytes.subarray(at, at + chunkBytes))
  return { contentType: scan.contentType(), isComplete: scan.isComplete() }
}

describe.each(images)('%s', (_, contentType, bytes) => {
  test('is complete for every chunk size', () => {
    for (const chunkBytes of [1, 2, 3, 7, 16, 17, 1000, bytes.length]) {
      expect(scanned(bytes, chunkBytes)).toEqual({ contentType, isComplete: true })
    }
  })

  test('is complete with trailing bytes', () => {
    for (const more of [Buffer.alloc(1000), Buffer.from('trailing text'), bytes]) {
      expect(scanned(Buffer.concat([bytes, more]), 64)).toEqual({ contentType, isComplete: true })
    }
  })

  test('is incomplete when truncated anywhere', () => {
    for (let end = 16; end < bytes.length; end += 1) {
      expect({ end, ...scanned(bytes.subarray(0, end)) }).toEqual({ end, contentType, isComplete: false })
    }
  })
})

test.each([
  ['a PNG without pixels', Buffer.concat([images[0]![2].subarray(0, 33), images[0]![2].subarray(-12)])],
  ['a JPEG without a scan', Buffer.concat([jpeg.subarray(0, 20), Buffer.of(0xff, 0xd9), Buffer.alloc(20)])],
  [
    'a GIF without an image',
    Buffer.concat([Buffer.from('GIF89a'), Buffer.alloc(7), Buffer.from(';'), Buffer.alloc(9)]),
  ],
  ['a WebP without an image', Buffer.from('RIFF\0\0\0\0WEBPEXIF\x02\0\0\0abVP8 \0\0\0\0')],
  ['a WebP that is a header alone', Buffer.from('RIFF\x08\0\0\0WEBPVP8 ')],
  ['a WebP with metadata alone', Buffer.from('RIFF\x0e\0\0\0WEBPEXIF\x02\0\0\0ab')],
])('%s is incomplete', (_, bytes) => {
  expect(scanned(bytes).isComplete).toBe(false)
})

test('an image with far too many parts counts as incomplete', () => {
  const withSegments = (count: number) =>
    Buffer.concat([
      jpeg.subarray(0, 2),
      Buffer.alloc(count * 4, Buffer.of(0xff, 0xe0, 0, 2)),
      jpeg.subarray(2),
    ])
  const gif = images[5]![2]
  const tableEnd = 13 + 3 * 2 ** ((gif.readUInt8(10) & 7) + 1)
  const withBlocks = (count: number) =>
    Buffer.concat([
      ...[gif.subarray(0, tableEnd), Buffer.from('!\x01'), Buffer.alloc(count * 2, 1), Buffer.of(0)],
      gif.subarray(tableEnd),
    ])
  for (const padded of [withSegments, withBlocks]) {
    expect(scanned(padded(1_000)).isComplete).toBe(true)
    expect(scanned(padded(1_000_000)).isComplete).toBe(false)
  }
})

test('a scan is done as soon as further bytes cannot change the result', () => {
  const isDoneAfter = (bytes: Buffer) => {
    const scan = createImageScan()
    scan.scan(bytes)
    return scan.isDone()
  }
  for (const [, , bytes] of images) {
    expect(isDoneAfter(bytes)).toBe(true)
    expect(isDoneAfter(bytes.subarray(0, -1))).toBe(false)
  }
  expect(isDoneAfter(Buffer.from('<svg/>'))).toBe(false)
  expect(isDoneAfter(Buffer.from('<svg></svg> and more'))).toBe(true)
})

test('a GIF without a trailer after its last block is complete, as in browsers', () => {
  const gif = images[5]![2]
  expect(scanned(Buffer.concat([gif.subarray(0, -1), Buffer.of(0)])).isComplete).toBe(true)
})

test('the result does not depend on the chunk size', () => {
  const heads = images.map(([, , bytes]) => bytes.subarray(0, 32))
  fc.assert(
    fc.property(
      fc.constantFrom(...heads),
      fc.uint8Array({ maxLength: 2_000 }),
      fc.integer({ min: 1, max: 50 }),
      (head, rest, chunkBytes) => {
        const bytes = Buffer.concat([head, rest])
        expect(scanned(bytes, chunkBytes)).toEqual(scanned(bytes))
      },
    ),
  )
})

test.each([
  ['image/png', '89504e470d0a1a0a0000'],
  ['image/jpeg', 'ffd8ffe000104a464946'],
  ['image/gif', Buffer.from('GIF89a').toString('hex')],
  ['image/gif', Buffer.from('GIF87a').toString('hex')],
  ['image/webp', Buffer.from('RIFF\0\0\0\0WEBPVP8 ').toString('hex')],
])('%s is detected by its first bytes (%s)', (type, hex) => {
  expect(imageTypeOf(Buffer.from(hex, 'hex'))).toBe(type)
})

test.each([
  '',
  '<svg/>',
  '%PDF-1.7',
  'BM123456',
  'RIFF\0\0\0\0WAVEfmt ',
  '\x89PNG',
  'GIF88a',
  ' \xff\xd8\xff',
])('%j is not the start of an image', (text) => {
  expect(imageTypeOf(Buffer.from(text, 'latin1'))).toBeUndefined()
})
