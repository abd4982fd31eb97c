import sharp from 'sharp'

import { channelsOf, mix, type Channels } from '../drawing/colour.ts'
import type { FilmShape } from '../drawing/film-shape.ts'
import { planeNoise, smoothstep } from '../drawing/noise.ts'
import { randomFrom } from '../drawing/random.ts'
import { paintLight, paintStars, type Light } from './celestial.ts'
import type { ScenePlan } from './scene-plan.ts'

/** The horizon of the sea, as a share of the height. */
const seaHorizon = 0.57

export function horizonLine(plan: ScenePlan, shape: FilmShape): number {
  if (plan.biome === 'space') return shape.height * 1.9
  if (plan.biome === 'plain' || plan.biome === 'underwater') return shape.height
  return Math.round(shape.height * (plan.biome === 'water' ? seaHorizon : 0.74))
}

export function placeLight(plan: ScenePlan, shape: FilmShape): Light {
  const random = randomFrom(plan.seed, 'light')
  const x = shape.width * random.between(0.24, 0.7)
  const low = plan.paletteName === 'sunset' || plan.paletteName === 'dawn' || plan.paletteName === 'ember'
  const size = 720 * shape.unit
  const radius = size * (plan.light === 'moon' ? random.between(0.05, 0.07) : random.between(0.052, 0.078))
  if (plan.biome === 'space')
    return { x: shape.width * random.between(0.14, 0.3), y: shape.height * 0.24, radius: radius * 0.6 }
  if (plan.biome === 'water') {
    const above = low ? random.between(0.06, 0.14) : random.between(0.22, 0.36)
    return { x, y: shape.height * (seaHorizon - above), radius }
  }
  return { x, y: shape.height * (low ? random.between(0.34, 0.46) : random.between(0.2, 0.34)), radius }
}

/** Paints the still backdrop: gradient, glow, clouds, stars, and sun or moon. */
export async function paintSky(plan: ScenePlan, shape: FilmShape, light: Light, file: string): Promise<void> {
  const pixels = paintAir(plan, shape, light)
  const { width, height } = shape
  const canvas = { pixels, width, height }
  if (plan.stars) paintStars(canvas, plan, shape.unit, horizonLine(plan, shape))
  if (showsLight(plan)) paintLight(canvas, plan, light)
  await sharp(pixels, { raw: { width, height, channels: 3 } })
    .png({ compressionLevel: 1 })
    .toFile(file)
}

/** Whether the sun or moon is visible: not without a sky, and not in a storm. */
function showsLight({ biome, paletteName }: ScenePlan): boolean {
  return biome !== 'plain' && biome !== 'underwater' && paletteName !== 'storm'
}

/**
 * Painted pixel by pixel with dithering, because an SVG gradient would show bands in large smooth areas.
 */
function paintAir(plan: ScenePlan, shape: FilmShape, light: Light): Buffer {
  const { width, height } = shape
  const { palette } = plan
  const pixels = Buffer.allocUnsafe(width * height * 3)
  const horizon = horizonLine(plan, shape)
  const clouds = cloudMap(plan, shape)
  const lightColour = channelsOf(palette.light)
  const cloudColour = channelsOf(
    plan.biome === 'space'
      ? mix(palette.horizon, palette.mist, 0.5)
      : mix(palette.horizon, palette.light, 0.45),
  )
  const cloudShade = channelsOf(mix(palette.sky, palette.horizon, plan.biome === 'space' ? 0.5 : 0.3))
  const deepWater = channelsOf(mix(palette.near, palette.sky, 0.22))
  const glowScale = 1 / light.radius
  const glowStrength = plan.light === 'moon' ? 0.55 : 1
  const dither = ditherNoise(plan.seed)
  let offset = 0
  for (let y = 0; y < height; y++) {
    const underWater = plan.biome === 'water' && y >= horizon
    const depth = underWater ? (y - horizon) / (height - horizon) : 0
    const mirroredY = underWater ? horizon - (y - horizon) * 1.15 : y
    const row = skyColour(plan, Math.max(0, mirroredY / horizon))
    const cloudRow = underWater ? 0 : 1
    for (let x = 0; x < width; x++) {
      let [red, green, blue] = row
      const cloud = cloudRow * clouds(x, y)
      const across = (x - light.x) * glowScale
      const down = (mirroredY - light.y) * glowScale
      const distance = Math.sqrt(across * across + down * down)
      const glow = glowStrength * (0.5 * Math.exp(-distance / 1.7) + 0.34 * Math.exp(-distance / 6))
      if (cloud > 0) {
        const lit = Math.min(1, 0.35 + glow * 2.2)
        red += (cloudShade[0] + (cloudColour[0] - cloudShade[0]) * lit - red) * cloud
        green += (cloudShade[1] + (cloudColour[1] - cloudShade[1]) * lit - green) * cloud
        blue += (cloudShade[2] + (cloudColour[2] - cloudShade[2]) * lit - blue) * cloud
      }
      red += (lightColour[0] - red) * glow
      green += (lightColour[1] - green) * glow
      blue += (lightColour[2] - blue) * glow
      if (underWater) {
        const sink = 0.3 + 0.58 * Math.sqrt(depth)
        red += (deepWater[0] - red) * sink
        green += (deepWater[1] - green) * sink
        blue += (deepWater[2] - blue) * sink
      }
      const grain = dither()
      pixels[offset++] = clampByte(red + grain)
      pixels[offset++] = clampByte(green + grain)
      pixels[offset++] = clampByte(blue + grain)
    }
  }
  return pixels
}

function clampByte(value: number): number {
  return value < 0 ? 0 : value > 255 ? 255 : Math.round(value)
}

function ditherNoise(seed: string): () => number {
  let state = Number.parseInt(seed.slice(0, 8), 16) | 1
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return (state >>> 8) / 16_777_216 - 0.5 + ((state >>> 4) & 255) / 255 - 0.5
  }
}

function skyColour(plan: ScenePlan, position: number): Channels {
  const { zenith, sky, horizon } = plan.palette
  const [from, to, amount] =
    position < 0.58
      ? [channelsOf(zenith), channelsOf(sky), position / 0.58]
      : [channelsOf(sky), channelsOf(horizon), Math.min(1, (position - 0.58) / 0.42)]
  return [
    from[0] + (to[0] - from[0]) * amount,
    from[1] + (to[1] - from[1]) * amount,
    from[2] + (to[2] - from[2]) * amount,
  ]
}

/** The opacity of clouds or nebula, computed on a coarse grid and interpolated. */
function cloudMap(plan: ScenePlan, shape: FilmShape): (x: number, y: number) => number {
  const random = randomFrom(plan.seed, 'clouds')
  const noise = planeNoise(random)
  const inSpace = plan.biome === 'space'
  const cover = inSpace ? 0.5 : random.between(0.3, 0.62)
  const step = 6
  const columns = Math.ceil(shape.width / step) + 2
  const rows = Math.ceil(shape.height / step) + 2
  const map = new Float32Array(columns * rows)
  const scale = step / (shape.unit * 720)
  const horizon = horizonLine(plan, shape)
  for (let row = 0; row < rows; row++) {
    const height = (row * step) / (inSpace ? shape.height : horizon)
    const belt = inSpace ? 1 : smoothstep(0.08, 0.5, height) * (1 - smoothstep(0.86, 1.02, height))
    if (belt === 0) continue
    for (let column = 0; column < columns; column++) {
      const x = column * scale * (inSpace ? 2.2 : 2.4)
      const y = row * scale * (inSpace ? 2.8 : 9)
      const bend = noise(x * 0.8 + 9, y * 0.8)
      const value =
        0.5 * noise(x + bend * 1.4, y + bend) +
        0.27 * noise(x * 2.1 + 31, y * 2.1 + bend) +
        0.15 * noise(x * 4.3 + 57, y * 4.3) +
        0.08 * noise(x * 8.7 + 91, y * 8.7)
      map[row * columns + column] =
        belt * smoothstep(1 - cover - 0.12, 1.02 - cover * 0.4, value * 1.28) * (inSpace ? 0.62 : 0.62)
    }
  }
  return (x, y) => {
    const column = Math.floor(x / step)
    const row = Math.floor(y / step)
    const across = x / step - column
    const down = y / step - row
    const index = row * columns + column
    const upper = map[index]! + (map[index + 1]! - map[index]!) * across
    const lower = map[index + columns]! + (map[index + columns + 1]! - map[index + columns]!) * across
    return upper + (lower - upper) * down
  }
}
