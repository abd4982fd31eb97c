import { mix } from '../drawing/colour.ts'
import type { FilmShape } from '../drawing/film-shape.ts'
import { randomFrom } from '../drawing/random.ts'
import { litIn, type ScenePlan } from './scene-plan.ts'
import {
  areaBelow,
  layerOf,
  layerSpeeds,
  lineOf,
  roughness,
  stripFor,
  traceProfile,
  verticalGradient,
  type Layer,
} from './terrain.ts'

const rust = ['#d99a72', '#c97a4c', '#b5623a', '#9c4e2c'] as const
const ash = ['#8d9099', '#9a9da6', '#a9acb4', '#b9bcc3'] as const

/** Layers of mesas: rusty on Mars under a dusty sky, grey on the moon under a black sky. */
export function mesaLayers(plan: ScenePlan, shape: FilmShape): Layer[] {
  return layerSpeeds(plan).map((speed, index) => mesa(plan, shape, speed, index))
}

function mesa(plan: ScenePlan, shape: FilmShape, speed: number, index: number): Layer {
  const random = randomFrom(plan.seed, `mars ${index}`)
  const { height, unit } = shape
  const lit = litIn(plan)
  const strip = stripFor(shape, speed)
  const base = height * (0.6 + 0.045 * index)
  const reach = unit * (92 - 18 * index)
  const crest = roughness(random, strip, { featurePx: 420 * unit, octaves: 3 })
  const grain = roughness(random, strip, { featurePx: 60 * unit, octaves: 2 })
  // Flattened at the top and at the foot, which makes mesas instead of peaks.
  const step = (value: number) => Math.max(-0.2, Math.min(0.55, value * 2.4))
  const profile = traceProfile(strip, 3 * unit, (x) => base - reach * (step(crest(x)) + 0.05 * grain(x)))
  const body = mix(lit((plan.biome === 'moon' ? ash : rust)[index]!), plan.palette.horizon, 0.3 - 0.1 * index)
  const art = `<defs>${verticalGradient('body', profile.highest, base + reach, [
    [0, mix(body, plan.palette.light, 0.2)],
    [0.4, body],
    [1, mix(body, plan.palette.near, 0.35)],
  ])}</defs><path d="${areaBelow(profile, height)}" fill="url(#body)"/><path d="${lineOf(profile)}" fill="none" stroke="${plan.palette.light}" stroke-opacity="0.3" stroke-width="${1.6 * unit}"/>`
  return layerOf(strip, profile.highest - 3 * unit, height, art)
}
