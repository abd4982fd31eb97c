import { mix } from '../drawing/colour.ts'
import type { FilmShape } from '../drawing/film-shape.ts'
import { randomFrom, type Random } from '../drawing/random.ts'
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
  type Strip,
} from './terrain.ts'

export function forestLayers(plan: ScenePlan, shape: FilmShape): Layer[] {
  return layerSpeeds(plan).map((speed, index) => forestLayer(plan, shape, speed, index))
}

function forestLayer(plan: ScenePlan, shape: FilmShape, speed: number, index: number): Layer {
  const random = randomFrom(plan.seed, `forest ${index}`)
  const { palette } = plan
  const { height, unit } = shape
  const strip = stripFor(shape, speed)
  // In an upright frame the forest is higher; otherwise it would be a thin line under a high sky.
  const tall = Math.min(1, Math.max(0, height / shape.width - 1))
  const base = height * (0.56 - 0.12 * tall + (0.14 + 0.035 * tall) * index)
  const reach = (0.5 * height + 360 * unit) * 0.075
  const ground = roughness(random, strip, { featurePx: unit * random.between(480, 620), octaves: 3 })
  const groundAt = (x: number) => base - reach * ground(x)
  const profile = traceProfile(strip, 4 * unit, groundAt)

  // Depends partly on the height of the frame, so that trees are not too small in an upright frame.
  const treeHeight = (0.5 * height + 360 * unit) * [0.13, 0.2, 0.3, 0.5][index]!
  const spacing = treeHeight * (index === 3 ? 0.44 : 0.2)
  let trees = ''
  let tallest = profile.highest
  for (let x = 0; x < strip.period; x += spacing * random.between(0.5, 1.5)) {
    // Occasional clearings make the row of trees irregular.
    if (index === 3 && random.chance(0.28)) x += spacing * random.between(1, 5)
    const size = treeHeight * random.between(0.5, 1.12)
    const tree = pine(random, size)
    const foot = groundAt(x) + treeHeight * 0.1
    tallest = Math.min(tallest, foot - size * 1.1)
    repeatAlong(strip, x, size, (at) => {
      trees += tree(at, foot)
    })
  }

  // A few trunks in the foreground, without crowns, place the viewer inside the forest.
  const trunks = index === 3 ? nearTrunks(random, strip, shape) : ''
  if (index === 3) tallest = 0

  const body = mix(palette.far, palette.near, (index / 3) ** 0.9)
  const foot = index === 3 ? mix(body, '#000000', 0.4) : mix(body, palette.mist, 0.5 - 0.08 * index)
  const art = `<defs>${verticalGradient('body', tallest, Math.min(height, base + reach * 1.6), [
    [0, body],
    [0.5, body],
    [1, foot],
  ])}</defs><path d="${areaBelow(profile, height)}" fill="url(#body)"/><path d="${trees}" fill="url(#body)"/><g fill="${mix(palette.near, '#000000', 0.25)}">${trunks}</g>`
  return layerOf(strip, tallest, height, art)
}

function nearTrunks(random: Random, strip: Strip, shape: FilmShape): string {
  const { height, unit } = shape
  let trunks = ''
  for (let x = shape.width * random.between(0, 0.14); x < strip.period;) {
    const girth = unit * random.between(26, 52)
    const lean = unit * random.between(-26, 26)
    const boughs = Array.from({ length: 7 }, (_, index) => ({
      y: height * (0.01 + 0.055 * index + random.between(0, 0.04)),
      side: random.chance(0.5) ? 1 : -1,
      length: girth * random.between(2.2, 4.6),
    }))
    repeatAlong(strip, x, girth * 6, (at) => {
      const left = at - girth / 2
      trunks += `<path d="M${(left + lean + girth * 0.16).toFixed(1)} 0L${(left + lean + girth * 0.84).toFixed(1)} 0L${(left + girth).toFixed(1)} ${(height * 0.9).toFixed(1)}L${(left + girth * 1.5).toFixed(1)} ${height}H${(left - girth * 0.5).toFixed(1)}L${left.toFixed(1)} ${(height * 0.9).toFixed(1)}Z"/>`
      for (const bough of boughs) {
        trunks += `<path d="${boughPath(at + lean * (1 - bough.y / height), girth, bough)}"/>`
      }
    })
    x += shape.width * random.between(0.42, 0.8)
  }
  return trunks
}

/** A drooping branch with hanging needles. */
function boughPath(x: number, girth: number, bough: { y: number; side: number; length: number }): string {
  const tip = { x: x + bough.side * bough.length, y: bough.y + bough.length * 0.3 }
  let path = `M${x.toFixed(1)} ${(bough.y - girth * 0.1).toFixed(1)}Q${(x + bough.side * bough.length * 0.6).toFixed(1)} ${bough.y.toFixed(1)} ${tip.x.toFixed(1)} ${tip.y.toFixed(1)}`
  const needles = 11
  for (let needle = needles - 1; needle >= 1; needle--) {
    const share = needle / needles
    const hang = bough.length * (0.3 * share ** 1.6 + 0.16 * Math.sin(share * Math.PI))
    const droop = girth * (needle % 3 === 0 ? 0.5 : 0.3)
    path += `L${(x + bough.side * bough.length * (share + 0.04)).toFixed(1)} ${(bough.y + hang + droop).toFixed(1)}L${(x + bough.side * bough.length * share).toFixed(1)} ${(bough.y + hang).toFixed(1)}`
  }
  return `${path}L${x.toFixed(1)} ${(bough.y + girth * 0.5).toFixed(1)}Z`
}

/** Draws the branches of a pine once and returns a function that places it. */
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
