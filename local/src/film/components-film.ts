import path from 'node:path'

import sharp from 'sharp'

import { framesPerSecond, type FilmShape } from '../drawing/film-shape.ts'
import { randomFrom } from '../drawing/random.ts'
import type { JobFiles } from '../jobs/job.ts'
import type { ScenePlan } from '../scenes/scene-plan.ts'
import { swaying, type Sprite } from '../scenes/sprite.ts'
import { cutOut } from './cut-out.ts'

/** A reference image placed in the scene. */
export interface Element extends Sprite {
  /** 0 is farthest. Nearer elements move faster and cover farther ones and more of the scenery. */
  nearness: number
}

interface Spot {
  /** Centre and largest size, as shares of the frame. */
  x: number
  y: number
  width: number
  height: number
  nearness: number
  degrees: number
}

/** Positions by number of images; the first image is nearest to the viewer. */
const wideSpots: Spot[][] = [
  [{ x: 0.5, y: 0.45, width: 0.56, height: 0.6, nearness: 1, degrees: -2 }],
  [
    { x: 0.32, y: 0.47, width: 0.42, height: 0.58, nearness: 1, degrees: -3.5 },
    { x: 0.7, y: 0.39, width: 0.36, height: 0.46, nearness: 0.5, degrees: 3 },
  ],
  [
    { x: 0.5, y: 0.47, width: 0.36, height: 0.58, nearness: 1, degrees: -2 },
    { x: 0.2, y: 0.38, width: 0.3, height: 0.42, nearness: 0.55, degrees: -5 },
    { x: 0.8, y: 0.36, width: 0.28, height: 0.38, nearness: 0.3, degrees: 5 },
  ],
]

const tallSpots: Spot[][] = [
  [{ x: 0.5, y: 0.43, width: 0.78, height: 0.48, nearness: 1, degrees: -2 }],
  [
    { x: 0.46, y: 0.58, width: 0.72, height: 0.34, nearness: 1, degrees: -3 },
    { x: 0.55, y: 0.27, width: 0.6, height: 0.3, nearness: 0.5, degrees: 3.5 },
  ],
  [
    { x: 0.48, y: 0.62, width: 0.7, height: 0.3, nearness: 1, degrees: -2.5 },
    { x: 0.34, y: 0.37, width: 0.56, height: 0.24, nearness: 0.55, degrees: -5 },
    { x: 0.66, y: 0.18, width: 0.5, height: 0.2, nearness: 0.3, degrees: 5 },
  ],
]

/** Paints the reference images as elements, farthest first. Characters, if any, get the space below them. */
export async function paintElements(
  plan: ScenePlan,
  shape: FilmShape,
  files: Pick<JobFiles, 'references' | 'characters'>,
  directory: string,
): Promise<Element[]> {
  const { references, characters } = files
  const { width, height, frameCount, unit } = shape
  const share = characters.length > 0 ? 0.7 : 1
  const spots = ((width >= height ? wideSpots : tallSpots)[references.length - 1] ?? []).map((spot) => ({
    ...spot,
    y: spot.y * share,
    height: spot.height * share,
  }))
  const heading = plan.direction === 'left' ? -1 : 1
  const elements = await Promise.all(
    spots.map(async (spot, index): Promise<Element> => {
      const fileName = `element-${index}.png`
      const size = await paintElement(references[index]!, spot, shape, path.join(directory, fileName))
      const random = randomFrom(plan.seed, `element ${index}`)
      const travel = heading * width * 0.075 * (0.25 + spot.nearness)
      const swayFrames = framesPerSecond * random.between(3.6, 5)
      return {
        fileName,
        nearness: spot.nearness,
        x: swaying({
          start: spot.x * width - size.width / 2 - travel / 2,
          travel,
          frameCount,
          sway: 0,
          swayFrames,
          phase: 0,
        }),
        y: swaying({
          start: spot.y * height - size.height / 2,
          travel: 0,
          frameCount,
          sway: (4 + 7 * spot.nearness) * unit,
          swayFrames,
          phase: random.between(0, 6),
        }),
      }
    }),
  )
  return elements.toReversed()
}

/** Paints a cut-out if the image has a plain or transparent background, and a framed card otherwise. */
async function paintElement(
  reference: string,
  spot: Spot,
  shape: FilmShape,
  file: string,
): Promise<{ width: number; height: number }> {
  const box = { width: Math.round(spot.width * shape.width), height: Math.round(spot.height * shape.height) }
  const image = await sharp(reference)
    .resize({ ...box, fit: 'inside' })
    .ensureAlpha()
    .png()
    .toBuffer()
  const cut = await cutOut(image)
  const body = cut ?? (await framed(image, shape, spot.degrees))
  const blur = Math.max(1, shape.unit * (7 + 9 * spot.nearness))
  const { data, info } = await withShadow(body, blur)
  await sharp(data).png({ compressionLevel: 1 }).toFile(file)
  return info
}

async function framed(image: Buffer, shape: FilmShape, degrees: number): Promise<Buffer> {
  const { width, height } = await sharp(image).metadata()
  const border = Math.max(2, Math.round(Math.min(width, height) * 0.035))
  const radius = Math.max(2, 14 * shape.unit)
  const mask = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><rect width="${width}" height="${height}" rx="${radius * 0.55}"/></svg>`
  const rounded = await sharp(image)
    .composite([{ input: Buffer.from(mask), blend: 'dest-in' }])
    .png()
    .toBuffer()
  const outer = { width: width + 2 * border, height: height + 2 * border }
  const frame = `<svg xmlns="http://www.w3.org/2000/svg" width="${outer.width}" height="${outer.height}"><rect width="${outer.width}" height="${outer.height}" rx="${radius}" fill="#fbfaf6"/></svg>`
  const card = await sharp(Buffer.from(frame))
    .composite([{ input: rounded, left: border, top: border }])
    .png()
    .toBuffer()
  return await sharp(card)
    .rotate(degrees, { background: { r: 0, g: 0, b: 0, alpha: 0 } })
    .png()
    .toBuffer()
}

async function withShadow(
  body: Buffer,
  blur: number,
): Promise<{ data: Buffer; info: { width: number; height: number } }> {
  const margin = Math.ceil(blur * 2.2)
  const fall = Math.round(blur * 0.8)
  const clear = { r: 0, g: 0, b: 0, alpha: 0 }
  const around = { left: margin, right: margin, top: margin, bottom: margin, background: clear }
  const shadow = await sharp(body)
    .ensureAlpha()
    .extend(around)
    .linear([0, 0, 0, 0.55], [4, 6, 12, 0])
    .blur(blur)
    .png()
    .toBuffer()
  const { width, height } = await sharp(shadow).metadata()
  const canvas = { width, height: height + fall }
  const data = await sharp({ create: { ...canvas, channels: 4, background: clear } })
    .composite([
      { input: shadow, left: 0, top: fall },
      { input: body, left: margin, top: margin },
    ])
    .png()
    .toBuffer()
  return { data, info: canvas }
}
