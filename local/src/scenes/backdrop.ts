import { mix } from '../drawing/colour.ts'
import type { FilmShape } from '../drawing/film-shape.ts'
import { randomFrom } from '../drawing/random.ts'
import type { ScenePlan } from './scene-plan.ts'
import {
  areaBelow,
  layerOf,
  layerSpeeds,
  repeatAlong,
  roughness,
  stripFor,
  traceProfile,
  verticalGradient,
  type Layer,
} from './terrain.ts'

/** Soft discs of light and long waves of colour, for prompts without a known place; wrong scenery would be worse. */
export function backdropLayers(plan: ScenePlan, shape: FilmShape): Layer[] {
  const speeds = layerSpeeds(plan)
  return [
    discs(plan, shape, { speed: speeds[0]!, count: 9, least: 60, most: 150 }),
    discs(plan, shape, { speed: speeds[1]!, count: 14, least: 16, most: 54 }),
    ribbon(plan, shape, { speed: speeds[2]!, height: 0.7, index: 0 }),
    ribbon(plan, shape, { speed: speeds[3]!, height: 0.86, index: 1 }),
  ]
}

function discs(
  plan: ScenePlan,
  shape: FilmShape,
  field: { speed: number; count: number; least: number; most: number },
): Layer {
  const random = randomFrom(plan.seed, `discs ${field.least}`)
  const { palette } = plan
  const strip = stripFor(shape, field.speed)
  const count = Math.round((field.count * strip.period) / shape.width)
  const tone = mix(palette.light, palette.horizon, 0.3)
  let art = `<defs><radialGradient id="disc"><stop offset="0" stop-color="${tone}" stop-opacity="0.34"/><stop offset="0.82" stop-color="${tone}" stop-opacity="0.2"/><stop offset="1" stop-color="${tone}" stop-opacity="0"/></radialGradient></defs>`
  for (let index = 0; index < count; index++) {
    const x0 = random.next() * strip.period
    const y = shape.height * random.between(0.06, 0.72)
    const radius = shape.unit * random.between(field.least, field.most)
    const opacity = random.between(0.35, 0.95).toFixed(2)
    repeatAlong(strip, x0, radius, (x) => {
      art += `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${radius.toFixed(1)}" fill="url(#disc)" opacity="${opacity}"/>`
    })
  }
  return layerOf(strip, 0, shape.height * 0.8, art)
}

function ribbon(
  plan: ScenePlan,
  shape: FilmShape,
  place: { speed: number; height: number; index: number },
): Layer {
  const random = randomFrom(plan.seed, `ribbon ${place.index}`)
  const { palette } = plan
  const { height, unit } = shape
  const strip = stripFor(shape, place.speed)
  const bend = roughness(random, strip, { featurePx: 760 * unit, octaves: 1 })
  const profile = traceProfile(strip, 6 * unit, (x) => height * place.height - 64 * unit * bend(x))
  const tone = mix(palette.far, palette.near, 0.25 + 0.4 * place.index)
  const art = `<defs>${verticalGradient('ribbon', profile.highest, height, [
    [0, tone, 0.75],
    [1, mix(tone, palette.near, 0.5), 0.95],
  ])}</defs><path d="${areaBelow(profile, height)}" fill="url(#ribbon)"/>`
  return layerOf(strip, profile.highest, height, art)
}
