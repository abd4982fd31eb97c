import sharp from 'sharp'
import { expect, test } from 'vitest'

import { pictureBook } from '../../test/kit/picture-book.ts'
import { filmShape } from '../drawing/film-shape.ts'
import { palettes } from '../drawing/palette.ts'
import type { Look } from '../drawing/pen.ts'
import { planScene } from '../scenes/scene-plan.ts'
import { placeLight } from '../scenes/sky.ts'
import { subjects, type Subject, type SubjectName } from '../subjects/subject-table.ts'
import { placeSubjects } from './place-subjects.ts'

const entries = Object.entries(subjects) as [SubjectName, Subject][]

function look(subject: Subject, change: Partial<Look> = {}): Look {
  return {
    ...{ phase: 0, colour: subject.colours[0], going: false, index: 0, span: 640, palette: palettes.day },
    ...{ word: subject.words.split(' ')[0]!, lit: (colour) => colour },
    ...change,
  }
}

/** The number of painted pixels outside the box of a drawing, within a margin. */
async function pixelsOutside(art: string, [left, top, right, bottom]: Subject['box']): Promise<number> {
  const margin = 40
  // Half the size is exact enough and four times as fast.
  const width = Math.ceil((right - left) / 2) + margin
  const height = Math.ceil((bottom - top) / 2) + margin
  const view = `${left - margin} ${top - margin} ${width * 2} ${height * 2}`
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="${view}">${art}</svg>`
  const alpha = await sharp(Buffer.from(svg)).extractChannel('alpha').raw().toBuffer()
  let count = 0
  for (const [at, value] of alpha.entries()) {
    const x = at % width
    const y = Math.floor(at / width)
    const edge = margin / 2 - 2
    const inside = x >= edge && y >= edge && x < width - edge && y < height - edge
    if (!inside && value > 24) count++
  }
  return count
}

test.each(entries.filter(([, { stance }]) => stance !== 'span'))(
  '%s fits into its box in every pose',
  async (_name, subject) => {
    const words = subject.words.split(' ')
    const poses = [0.05, 0.25, 0.5, 0.75].flatMap((phase) =>
      (subject.goes === 'never' ? [false] : [true, false]).map((going) => ({
        phase,
        going,
        word: words[0]!,
      })),
    )
    for (const pose of [...poses, ...words.slice(1).map((word) => ({ phase: 0, going: false, word }))]) {
      const art = subject.draw(look(subject, pose))
      expect(art).not.toMatch(/NaN|undefined/)
      expect({ ...pose, outside: await pixelsOutside(art, subject.box) }).toEqual({ ...pose, outside: 0 })
    }
  },
)

test.each(entries)('%s is animated if its loop is not 0', (_name, subject) => {
  const going = subject.goes !== 'never'
  const poses = new Set([0, 0.1, 0.3, 0.5].map((phase) => subject.draw(look(subject, { phase, going }))))
  expect(poses.size > 1).toBe(subject.loop > 0)
})

test.each(
  entries.filter(([name]) => !['lightning', 'rainbow', 'flock', 'village', 'astronaut'].includes(name)),
)('%s is drawn in the given colour', (_name, subject) => {
  const draw = (colour: string) => subject.draw(look(subject, { colour }))
  expect(draw('#00c0ff')).not.toBe(draw('#ff4000'))
})

const sizes = [
  [1280, 720],
  [720, 1280],
  [480, 480],
  [320, 180],
  [1920, 1080],
  [64, 64],
] as const

test.each(pictureBook)('$prompt: all subjects are inside the frame in every format', ({ prompt }) => {
  const plan = planScene({ prompt })
  for (const [width, height] of sizes) {
    const shape = filmShape({ width, height, seconds: 10 })
    for (const crowded of [false, true]) {
      const placements = placeSubjects(plan, shape, placeLight(plan, shape), crowded)
      expect(placements).toHaveLength(plan.subjects.length)
      for (const { box, subject, travel } of placements) {
        const middle = box.x + box.width / 2
        expect({ name: subject.name, middle, at: middle + travel, width }).toSatisfy(
          () =>
            Math.min(middle, middle + travel) >= width * 0.04 &&
            Math.max(middle, middle + travel) <= width * 0.96,
        )
        expect(box.y + box.height).toBeLessThanOrEqual(height * 1.02)
        expect(box.y + box.height / 2).toBeGreaterThanOrEqual(0)
        expect(box.height).toBeGreaterThanOrEqual(height * 0.05)
      }
    }
  }
})
