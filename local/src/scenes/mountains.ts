import { mix } from '../drawing/colour.ts'
import type { FilmShape } from '../drawing/film-shape.ts'
import { randomFrom } from '../drawing/random.ts'
import type { ScenePlan } from './scene-plan.ts'
import {
  areaBelow,
  areaBetween,
  layerOf,
  layerSpeeds,
  lineOf,
  roughness,
  stripFor,
  traceProfile,
  verticalGradient,
  type Layer,
  type Profile,
} from './terrain.ts'

export function mountainLayers(plan: ScenePlan, shape: FilmShape): Layer[] {
  return layerSpeeds(plan).map((speed, index) => mountainLayer(plan, shape, speed, index))
}

function mountainLayer(plan: ScenePlan, shape: FilmShape, speed: number, index: number): Layer {
  const random = randomFrom(plan.seed, `mountains ${index}`)
  const { palette } = plan
  const { height, unit } = shape
  const strip = stripFor(shape, speed)
  const nearness = index / 3
  const base = height * (0.595 + 0.125 * index + random.between(-0.015, 0.015))
  const reach = (0.55 * height + 0.45 * 720 * unit) * (0.2 - 0.026 * index)
  const crest = roughness(random, strip, {
    featurePx: unit * random.between(300, 430) * (1 - 0.12 * index),
    octaves: 6,
    sharp: true,
  })
  const swell = roughness(random, strip, { featurePx: 900 * unit, octaves: 2 })
  const step = Math.max(1.5, 2.5 * unit)
  const profile = traceProfile(strip, step, (x) => base - reach * (crest(x) * 0.95 + swell(x) * 0.55))

  const body = mix(palette.far, palette.near, nearness ** 0.85)
  // Haze at the foot of a range separates it from the next one.
  const foot = index === 3 ? mix(body, '#000000', 0.35) : mix(body, palette.mist, 0.34 - 0.05 * index)
  const rim = mix(body, palette.light, 0.55)
  const bottom = Math.min(height, base + reach * 2.4)
  let art = `<defs>${verticalGradient('body', profile.highest, bottom, [
    [0, body],
    [1, foot],
  ])}</defs>`
  art += `<path d="${areaBelow(profile, height)}" fill="url(#body)"/>`
  const edge = roughness(random, strip, { featurePx: 78 * unit, octaves: 3 })
  if (plan.snow) {
    const snow = mix(mix('#ffffff', palette.mist, 0.3), body, 0.08 + 0.35 * nearness)
    const snowLine = base + reach * (0.35 - 0.7 * nearness)
    const lower = {
      ...profile,
      ys: profile.ys.map((y, at) => {
        const depth = Math.max(0, snowLine - y)
        return y + depth * Math.min(0.95, Math.max(0.08, 0.5 + 0.75 * edge(profile.xs[at]!)))
      }),
    }
    art += `<path d="${areaBetween(profile, lower)}" fill="${snow}" opacity="0.92"/>`
  }
  art += relief(profile, edge, { step, colour: mix(body, palette.near, 0.6), reach })
  art += `<path d="${lineOf(profile)}" fill="none" stroke="${rim}" stroke-opacity="${0.34 - 0.07 * index}" stroke-width="${1.6 * unit}"/>`
  return layerOf(strip, profile.highest - 3 * unit, height, art)
}

/** Shades the slopes that face away from the light. */
function relief(
  profile: Profile,
  jag: (x: number) => number,
  look: { step: number; colour: string; reach: number },
): string {
  const span = Math.max(1, Math.round((0.16 * look.reach) / look.step))
  let depth = 0
  const lower = {
    ...profile,
    ys: profile.ys.map((y, at) => {
      const slope = (y - profile.ys[Math.max(0, at - span)]!) / (span * look.step)
      // Smoothed, so that the shadow covers a whole face of the mountain instead of a fringe.
      depth += (Math.min(1.1, Math.max(0, slope) * 1.5) - depth) * 0.06
      return y + depth * look.reach * (1.5 + 0.5 * jag(profile.xs[at]!))
    }),
  }
  return `<path d="${areaBetween(profile, lower)}" fill="${look.colour}" opacity="0.24"/>`
}
