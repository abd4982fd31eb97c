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

export function duneLayers(plan: ScenePlan, shape: FilmShape): Layer[] {
  return layerSpeeds(plan).map((speed, index) => duneLayer(plan, shape, speed, index))
}

function duneLayer(plan: ScenePlan, shape: FilmShape, speed: number, index: number): Layer {
  const random = randomFrom(plan.seed, `dunes ${index}`)
  const { palette } = plan
  const { height, unit } = shape
  const strip = stripFor(shape, speed)
  const base = height * (0.655 + 0.105 * index)
  const reach = (0.5 * height + 360 * unit) * (0.075 + 0.012 * index)
  const crest = roughness(random, strip, { featurePx: unit * random.between(420, 560), octaves: 2 })
  const fold = roughness(random, strip, { featurePx: 260 * unit, octaves: 2 })
  // Bending the axis makes one flank of a dune long and the other steep.
  const lean = 70 * unit
  const step = Math.max(2, 3 * unit)
  const profile = traceProfile(
    strip,
    step,
    (x) => base - reach * (1.15 * crest(x + lean * crest(x)) + 0.16 * fold(x)),
  )

  const body = mix(mix(palette.far, palette.horizon, 0.22 - 0.05 * index), palette.near, 0.1 + 0.25 * index)
  const lit = mix(body, palette.light, 0.34 - 0.06 * index)
  const shade = mix(body, palette.near, 0.62)
  const shadow = flank(profile, step, reach)
  let art = `<defs>${verticalGradient('body', profile.highest, Math.min(height, base + reach * 2.6), [
    [0, lit],
    [0.45, body],
    [1, mix(body, palette.near, 0.4)],
  ])}${verticalGradient('shade', profile.highest, base + reach * 2, [
    [0, shade, 0.72],
    [1, shade, 0.1],
  ])}</defs>`
  art += `<path d="${areaBelow(profile, height)}" fill="url(#body)"/>`
  art += `<path d="${areaBetween(profile, shadow)}" fill="url(#shade)"/>`
  for (let ripple = 1; ripple <= 4; ripple++) {
    const line: Profile = {
      ...profile,
      ys: profile.ys.map(
        (y, at) =>
          y + reach * 0.42 * ripple ** 1.35 + reach * 0.07 * fold(profile.xs[at]! + ripple * 210 * unit),
      ),
    }
    art += `<path d="${lineOf(line)}" fill="none" stroke="${shade}" stroke-opacity="${0.16 - 0.025 * ripple}" stroke-width="${(1.4 + ripple * 0.6) * unit}"/>`
  }
  art += `<path d="${lineOf(profile)}" fill="none" stroke="${mix(lit, palette.light, 0.6)}" stroke-opacity="0.5" stroke-width="${1.8 * unit}"/>`
  return layerOf(strip, profile.highest - 3 * unit, height, art)
}

function flank(profile: Profile, step: number, reach: number): Profile {
  let depth = 0
  return {
    ...profile,
    ys: profile.ys.map((y, at) => {
      const slope = (y - profile.ys[Math.max(0, at - 3)]!) / (3 * step)
      depth += (Math.min(1, Math.max(0, slope) * 4.5) - depth) * 0.12
      return y + depth * reach * 2.1
    }),
  }
}
