import { mix } from './colour.ts'
import type { FilmShape } from './film-shape.ts'
import { randomFrom, type Random } from './random.ts'
import type { ScenePlan } from './scene-plan.ts'
import {
  areaBelow,
  layerOf,
  repeatAlong,
  roughness,
  stripFor,
  traceProfile,
  verticalGradient,
  type Layer,
} from './terrain.ts'

const speeds = [1, 2, 3, 5]

export function forestLayers(plan: ScenePlan, shape: FilmShape): Layer[] {
  return speeds.map((speed, index) => forestLayer(plan, shape, speed, index))
}

function forestLayer(plan: ScenePlan, shape: FilmShape, speed: number, index: number): Layer {
  const random = randomFrom(plan.seed, `forest ${index}`)
  const { palette } = plan
  const { height, unit } = shape
  const strip = stripFor(shape, speed)
  const base = height * (0.62 + 0.125 * index)
  const reach = (0.5 * height + 360 * unit) * 0.075
  const ground = roughness(random, strip, { featurePx: unit * random.between(480, 620), octaves: 3 })
  const groundAt = (x: number) => base - reach * ground(x)
  const profile = traceProfile(strip, 4 * unit, groundAt)

  const treeHeight = unit * [64, 96, 140, 230][index]!
  const spacing = treeHeight * (index === 3 ? 0.46 : 0.24)
  let trees = ''
  let tallest = profile.highest
  for (let x = 0; x < strip.period; x += spacing * random.between(0.5, 1.5)) {
    // Now and then a clearing, so that the edge of the wood does not read as a comb.
    if (index === 3 && random.chance(0.28)) x += spacing * random.between(1, 5)
    const size = treeHeight * random.between(0.5, 1.12)
    const tree = pine(random, size)
    const foot = groundAt(x) + treeHeight * 0.1
    tallest = Math.min(tallest, foot - size * 1.1)
    repeatAlong(strip, x, size, (at) => {
      trees += tree(at, foot)
    })
  }

  const body = mix(palette.far, palette.near, (index / 3) ** 0.9)
  const foot = index === 3 ? mix(body, '#000000', 0.4) : mix(body, palette.mist, 0.5 - 0.08 * index)
  const art = `<defs>${verticalGradient('body', tallest, Math.min(height, base + reach * 1.6), [
    [0, body],
    [0.5, body],
    [1, foot],
  ])}</defs><path d="${areaBelow(profile, height)}" fill="url(#body)"/><path d="${trees}" fill="url(#body)"/>`
  return layerOf(strip, tallest, height, art)
}

/** A pine whose boughs were drawn once and which can then be set anywhere. */
function pine(random: Random, size: number): (x: number, foot: number) => string {
  const width = size * random.between(0.3, 0.4)
  const tiers = Math.max(4, Math.min(9, Math.round(size / 16)))
  const right: [number, number][] = []
  const left: [number, number][] = []
  for (let tier = 1; tier <= tiers; tier++) {
    const share = tier / tiers
    const droop = size * (0.9 * share)
    for (const side of [right, left]) {
      const spread = (width / 2) * share ** 0.85 * random.between(0.8, 1.12)
      side.push([spread, droop], [spread * 0.42, droop - size * 0.012])
    }
  }
  return (x, foot) => {
    const top = foot - size
    const sign = (side: [number, number][], factor: number) =>
      side.map(([across, down]): string => `L${(x + factor * across).toFixed(1)} ${(top + down).toFixed(1)}`)
    return `M${x.toFixed(1)} ${top.toFixed(1)}${sign(right, 1).join('')}L${(x + size * 0.02).toFixed(1)} ${foot.toFixed(1)}L${(x - size * 0.02).toFixed(1)} ${foot.toFixed(1)}${sign(left, -1).toReversed().join('')}Z`
  }
}
