import { expect, test } from 'vitest'

import { filmShape } from '../drawing/film-shape.ts'
import { notedTexts, textNote } from './text-note.ts'

const shape = filmShape({ width: 640, height: 360, seconds: 3 })
const caption = { x: 200, y: 280, width: 240, height: 50 }

test('boxes of a note are scaled to the new film', () => {
  expect(notedTexts(textNote(shape, [caption]), shape)).toEqual([caption])
  const tall = filmShape({ width: 180, height: 360, seconds: 3 })
  // Only the middle 180 columns remain, and the box extends beyond them on both sides.
  expect(notedTexts(textNote(shape, [caption]), tall)).toEqual([{ x: 1, y: 280, width: 178, height: 50 }])
})

test.each([
  'a holiday in Spain',
  'kinora-local 0x0 1,1,9,9',
  'kinora-local 640x360 1,1,9,9:drawtext=x',
  'kinora-local 640x360 700,1,90,9',
])('ignores the invalid note %s', (note) => {
  expect(notedTexts(note, shape)).toEqual([])
})

test('boxes of any note stay inside the frame', () => {
  for (const box of notedTexts('kinora-local 640x360 0,0,99999,99999 639,0,9,9 630,350,99,99', shape)) {
    expect(Math.min(box.x, box.y)).toBeGreaterThanOrEqual(1)
    expect(box.x + box.width).toBeLessThan(shape.width)
    expect(box.y + box.height).toBeLessThan(shape.height)
  }
})
