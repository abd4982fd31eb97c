import { mix } from '../drawing/colour.ts'
import type { FilmShape } from '../drawing/film-shape.ts'
import { planeNoise, smoothstep } from '../drawing/noise.ts'
import { randomFrom } from '../drawing/random.ts'
import type { Light } from './celestial.ts'
import type { ScenePlan } from './scene-plan.ts'
import { horizonLine } from './sky.ts'
import {
  areaBelow,
  areaBetween,
  layerOf,
  lineOf,
  roughness,
  stripFor,
  traceProfile,
  verticalGradient,
  type Layer,
  type Profile,
} from './terrain.ts'

export function seaLayers(plan: ScenePlan, shape: FilmShape): Layer[] {
  return [
    coast(plan, shape, { speed: plan.camera === 'still' ? 0 : 1, index: 0 }),
    coast(plan, shape, { speed: plan.camera === 'still' ? 0 : 2, index: 1 }),
    swell(plan, shape, { speed: 3, index: 0 }),
    swell(plan, shape, { speed: 5, index: 1 }),
  ]
}

/** Islands on the horizon, with their reflection. */
function coast(plan: ScenePlan, shape: FilmShape, place: { speed: number; index: number }): Layer {
  const random = randomFrom(plan.seed, `coast ${place.index}`)
  const { palette } = plan
  const { unit } = shape
  const strip = stripFor(shape, place.speed)
  const shore = horizonLine(plan, shape) + place.index * 7 * unit
  const reach = unit * (place.index === 0 ? random.between(56, 96) : random.between(60, 110))
  const crest = roughness(random, strip, { featurePx: 240 * unit, octaves: 5, sharp: true })
  const presence = roughness(random, strip, { featurePx: 620 * unit, octaves: 2 })
  // Land rises only where the curve is above this level, which leaves open water between the islands.
  const sill = place.index === 0 ? -0.12 : 0.2
  const heightAt = (x: number) => {
    const land = smoothstep(sill, sill + 0.5, presence(x))
    return land * reach * (0.55 + 0.5 * crest(x)) - (1 - land) * 4 * unit
  }
  const profile = traceProfile(strip, 2.5 * unit, (x) => Math.min(shore, shore - heightAt(x)))
  const mirrored = traceProfile(strip, 2.5 * unit, (x) => Math.max(shore, shore + heightAt(x) * 0.62))
  const body = mix(
    mix(palette.far, palette.near, place.index === 0 ? 0.12 : 0.5),
    palette.horizon,
    place.index === 0 ? 0.2 : 0,
  )
  const flat: Profile = { ...profile, ys: profile.ys.map(() => shore) }
  const art = `<defs>${verticalGradient('body', profile.highest, shore, [
    [0, body],
    [1, mix(body, palette.mist, 0.3)],
  ])}${verticalGradient('echo', shore, shore + reach, [
    [0, mix(body, palette.near, 0.35), 0.55],
    [1, mix(body, palette.near, 0.5), 0.05],
  ])}</defs><path d="${areaBelow(profile, shore)}" fill="url(#body)"/><path d="${areaBetween(flat, mirrored)}" fill="url(#echo)"/>`
  return layerOf(strip, profile.highest - 2 * unit, shore + reach, art)
}

/** A few long translucent swells in the foreground. */
function swell(plan: ScenePlan, shape: FilmShape, place: { speed: number; index: number }): Layer {
  const random = randomFrom(plan.seed, `swell ${place.index}`)
  const { palette } = plan
  const { height, unit } = shape
  const strip = stripFor(shape, place.speed)
  const horizon = horizonLine(plan, shape)
  const from = place.index === 0 ? 0.3 : 0.66
  const lines = place.index === 0 ? 3 : 2
  const deep = mix(palette.near, palette.sky, 0.12)
  let art = ''
  let highest = height
  for (let line = 0; line < lines; line++) {
    const depth = from + (line / lines) * 0.34
    const base = horizon + (height - horizon) * depth
    const reach = unit * (4 + 14 * depth ** 1.5)
    const wave = roughness(random, strip, { featurePx: unit * (150 + 340 * depth), octaves: 3 })
    const profile = traceProfile(strip, 4 * unit, (x) => base - reach * wave(x))
    const end = base + unit * (26 + 90 * depth)
    highest = Math.min(highest, profile.highest)
    art += `<defs>${verticalGradient(`swell${line}`, base - reach, end, [
      [0, deep, 0.34],
      [1, deep, 0],
    ])}</defs><path d="${areaBelow(profile, end)}" fill="url(#swell${line})"/><path d="${lineOf(profile)}" fill="none" stroke="${mix(palette.horizon, palette.light, 0.4)}" stroke-opacity="${0.07 + 0.05 * depth}" stroke-width="${(0.8 + 1.2 * depth) * unit}"/>`
  }
  return layerOf(strip, highest - 3 * unit, height, art)
}

/** Half the frame rate of the film is enough for glitter and costs half. */
export const glitterFramesPerSecond = 12

export interface GlitterGrid {
  width: number
  height: number
  /** Paints the glitter at a time, in seconds, as one byte of opacity per pixel. The buffer is reused. */
  paint(seconds: number): Buffer
}

/** Glitter on small waves: a path under the sun that widens towards the viewer, and faint specks elsewhere. */
export function seaGlitter(plan: ScenePlan, shape: FilmShape, light: Light): GlitterGrid {
  const horizon = horizonLine(plan, shape)
  const width = Math.max(32, Math.round(shape.width / 4))
  const height = Math.max(16, Math.round((shape.height - horizon) / 2))
  const noise = planeNoise(randomFrom(plan.seed, 'glitter'))
  const bytes = Buffer.alloc(width * height)
  const lightColumn = (light.x / shape.width) * width
  const pathWidth = ((light.radius * 1.15) / shape.width) * width
  /** Pixels of a 720-line film per column, times the frequency of the nearest waves. */
  const columnScale = (shape.width / width / shape.unit) * 0.045
  const brightness = plan.light === 'moon' ? 0.75 : 0.95
  return {
    width,
    height,
    paint(seconds) {
      for (let row = 0; row < height; row++) {
        const nearness = (row + 0.5) / height
        // Logarithmic for perspective: distant waves are closer together.
        const y = Math.log(nearness + 0.06) * -15 + seconds * 0.5
        const cross = Math.log(nearness + 0.06) * -23 - seconds * 0.7
        const stretch = (0.3 / (nearness + 0.12)) * columnScale
        const drift = seconds * 0.45
        const reach = pathWidth * (0.75 + 2.1 * nearness)
        const fade = smoothstep(0, 0.04, nearness) * (1 - 0.45 * nearness)
        const offset = row * width
        for (let column = 0; column < width; column++) {
          const across = column - lightColumn
          const x = across * stretch
          const wave = 0.62 * noise(x + drift + 64, y + 40) + 0.38 * noise(x * 1.9 - drift + 128, cross + 90)
          const path = Math.exp(-((across / reach) ** 2))
          const threshold = 0.66 - 0.2 * path
          const spark = wave <= threshold ? 0 : Math.min(1, (wave - threshold) * 6.5)
          bytes[offset + column] = 255 * brightness * fade * spark * (0.14 + 0.86 * path)
        }
      }
      return bytes
    },
  }
}
