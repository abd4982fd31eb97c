import { expect, test } from 'vitest'

import { pictureTypeOf } from './reference-picture.ts'

test.each([
  ['image/png', '89504e470d0a1a0a0000'],
  ['image/jpeg', 'ffd8ffe000104a464946'],
  ['image/gif', Buffer.from('GIF89a').toString('hex')],
  ['image/gif', Buffer.from('GIF87a').toString('hex')],
  ['image/webp', Buffer.from('RIFF\0\0\0\0WEBPVP8 ').toString('hex')],
])('%s is known by its first bytes (%s)', (type, hex) => {
  expect(pictureTypeOf(Buffer.from(hex, 'hex'))).toBe(type)
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
])('%j is the beginning of no picture', (text) => {
  expect(pictureTypeOf(Buffer.from(text, 'latin1'))).toBeUndefined()
})
