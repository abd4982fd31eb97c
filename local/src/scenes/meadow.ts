import { mix } from '../drawing/colour.ts'
import type { FilmShape } from '../drawing/film-shape.ts'
import { randomFrom } from '../drawing/random.ts'
import { litIn, type ScenePlan } from './scene-plan.ts'
import {
  areaBelow,
  layerOf,
  layerSpeeds,
  lineOf,
  repeatAlong,
  roughness,
  stripFor,
  traceProfile,
  verticalGradient,
  type Layer,
} from './terrain.ts'

/** Round green hills with bushes, for gardens, parks and fields. */
export function meadowLayers(plan: ScenePlan, shape: FilmShape): Layer[] {
  return layerSpeeds(plan).map((speed, index) => hill(plan, shape, speed, index))
}

function hill(plan: ScenePlan, shape: FilmShape, speed: number, index: number): Layer {
  const random = randomFrom(plan.seed, `meadow ${index}`)
  const { palette } = plan
  const { height, unit } = shape
  const lit = litIn(plan)
  const strip = stripFor(shape, speed)
  const base = height * (0.57 + 0.055 * index)
  const reach = unit * (62 - 10 * index)
  const swell = roughness(random, strip, { featurePx: unit * random.between(520, 700), octaves: 2 })
  const groundAt = (x: number) => base - reach * swell(x)
  const profile = traceProfile(strip, 4 * unit, groundAt)
  const green = plan.snow ? '#e9f2f8' : ['#a8cf8a', '#8fc06c', '#7ab257', '#6aa24a'][index]!
  const body = mix(lit(green), palette.far, 0.42 - 0.1 * index)
  let bushes = ''
  let highest = profile.highest
  const leaf = mix(lit(plan.snow ? '#c8dbe6' : '#5f9a4f'), palette.far, 0.36 - 0.08 * index)
  const count = Math.round((strip.period / (unit * 250)) * random.between(0.7, 1.2))
  for (let bush = 0; bush < count; bush++) {
    const x0 = random.next() * strip.period
    const size = unit * random.between(9, 20) * (0.7 + 0.3 * index)
    const foot = groundAt(x0) + size * 0.3
    highest = Math.min(highest, foot - size * 1.9)
    repeatAlong(strip, x0, size * 3, (x) => {
      for (const [across, up, r] of [
        [-0.8, 0.4, 0.7],
        [0.8, 0.4, 0.75],
        [0, 0.85, 0.95],
      ] as const) {
        bushes += `<circle cx="${(x + across * size).toFixed(1)}" cy="${(foot - up * size).toFixed(1)}" r="${(r * size).toFixed(1)}"/>`
      }
    })
  }
  const art = `<defs>${verticalGradient('body', highest, Math.min(height, base + reach * 3), [
    [0, mix(body, palette.light, 0.16)],
    [1, mix(body, lit('#3f7a3a'), plan.snow ? 0.05 : 0.3)],
  ])}</defs><g fill="${leaf}">${bushes}</g><path d="${areaBelow(profile, height)}" fill="url(#body)"/><path d="${lineOf(profile)}" fill="none" stroke="${mix(body, palette.light, 0.5)}" stroke-opacity="0.4" stroke-width="${1.6 * unit}"/>`
  return layerOf(strip, highest - 3 * unit, height, art)
}
