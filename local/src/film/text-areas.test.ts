import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'

import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

import type { Box } from '../drawing/film-graph.ts'
import { filmShape } from '../drawing/film-shape.ts'
import { captionText, paintCaption } from './caption.ts'
import { layoutCharacters } from './character-layout.ts'
import { paintName } from './character.ts'
import { watermarkBox } from './overlay.ts'
import { characterBand } from './text-areas.ts'

let directory: string
beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'kinora-text-'))
})
afterAll(async () => {
  await rm(directory, { recursive: true, force: true })
})

const sizes = [
  [1280, 720],
  [720, 1280],
  [1080, 1080],
  [480, 480],
  [320, 180],
  [180, 320],
  [640, 128],
  [96, 160],
  [64, 64],
] as const

const captions = {
  none: '',
  short: 'Hi',
  usual: 'Two friends take a walk under autumn leaves',
  long: 'lighthouse '.repeat(40),
  unbroken: 'x'.repeat(400),
  emoji: '🐳👨‍👩‍👧'.repeat(60),
}

function overlap(one: Box, other: Box): boolean {
  const apart =
    one.x + one.width <= other.x ||
    other.x + other.width <= one.x ||
    one.y + one.height <= other.y ||
    other.y + other.height <= one.y
  return !apart
}

describe.each(sizes)('at %i x %i', (width, height) => {
  const shape = filmShape({ width, height, seconds: 10 })

  test.each(Object.entries(captions))('no texts overlap with a caption that is %s', async (name, text) => {
    const shown = captionText(text)
    const file = path.join(directory, `${width}x${height}-${name}.png`)
    const caption = shown === '' ? undefined : await paintCaption(shown, shape, file)
    if (caption !== undefined) {
      const { width: paintedWidth, height: paintedHeight } = await sharp(file).metadata()
      expect(caption).toMatchObject({ width: paintedWidth, height: paintedHeight })
      expect(caption.x).toBeGreaterThanOrEqual(0)
      expect(caption.x + caption.width).toBeLessThanOrEqual(width)
      expect(caption.y).toBeGreaterThan(height * 0.5)
      expect(caption.y + caption.height).toBeLessThanOrEqual(height)
    }
    for (const count of [1, 2, 3, 4]) {
      for (const hasElements of [false, true]) {
        const band = characterBand(shape, { caption, watermark: true, hasElements })
        const { places, diameter, drift } = layoutCharacters(count, shape, band, 1)
        // They all drift at the same speed, so the drift does not make them overlap.
        const atOnce = (box: Box) => ({ ...box, x: box.x + drift / 2, width: box.width - drift })
        expect(diameter).toBeGreaterThan(2)
        const texts = [watermarkBox(shape), ...(caption === undefined ? [] : [caption])]
        for (const [index, place] of places.entries()) {
          const others = places.filter((_, other) => other !== index).map(({ reach }) => atOnce(reach))
          const label = place.nameReach
          expect(others.filter((box) => overlap(atOnce(label), box))).toEqual([])
          expect(texts.filter((box) => overlap(label, box))).toEqual([])
          expect(texts.filter((box) => overlap(place.reach, box))).toEqual([])
          expect(label.x).toBeGreaterThanOrEqual(0)
          expect(label.x + label.width).toBeLessThanOrEqual(width)
        }
      }
    }
  })

  test.each(['mina', 'm'.repeat(200), '海'.repeat(40), '👩‍🚀'.repeat(30), 'gjpqy_'.repeat(6)])(
    'the label of %s fits the layout',
    async (userName) => {
      for (const count of [1, 4]) {
        const band = characterBand(shape, { caption: undefined, watermark: true, hasElements: false })
        const { name } = layoutCharacters(count, shape, band, 1)
        const painted = await paintName(userName, name)
        expect(painted.width).toBeLessThanOrEqual(name.widthMax)
        expect(painted.height).toBeLessThanOrEqual(name.height)
      }
    },
  )
})

test('an emoji in a caption has its colours', async () => {
  const file = path.join(directory, 'emoji.png')
  const colourful = async (text: string) => {
    await paintCaption(text, filmShape({ width: 640, height: 360, seconds: 1 }), file)
    const pixels = await sharp(file).ensureAlpha().raw().toBuffer()
    let count = 0
    for (let at = 0; at < pixels.length; at += 4) {
      const [red = 0, green = 0, blue = 0, alpha = 0] = pixels.subarray(at, at + 4)
      if (alpha > 200 && Math.max(red, green, blue) - Math.min(red, green, blue) > 80) count++
    }
    return count
  }
  expect(await colourful('a cat')).toBe(0)
  expect(await colourful('a cat 🐱')).toBeGreaterThan(60)
})
