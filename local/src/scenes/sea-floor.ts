import { mix } from '../drawing/colour.ts'
import type { FilmShape } from '../drawing/film-shape.ts'
import { randomFrom } from '../drawing/random.ts'
import { litIn, type ScenePlan } from './scene-plan.ts'
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

/** Rays of light, distant rocks, and weeds and corals in the foreground. */
export function seaFloorLayers(plan: ScenePlan, shape: FilmShape): Layer[] {
  const speeds = layerSpeeds(plan)
  return [rays(plan, shape), rocks(plan, shape, speeds[1]!), weeds(plan, shape, speeds[2]!)]
}

function rays(plan: ScenePlan, shape: FilmShape): Layer {
  const random = randomFrom(plan.seed, 'rays')
  const { width, height } = shape
  let art = `<defs>${verticalGradient('ray', 0, height * 0.8, [
    [0, '#ffffff', 0.34],
    [1, '#ffffff', 0],
  ])}</defs>`
  for (let ray = 0; ray < 6; ray++) {
    const x = width * (ray / 6 + random.between(0, 0.12))
    const breadth = width * random.between(0.03, 0.08)
    art += `<path d="M${x} 0H${x + breadth}L${x + breadth * 2.6 - width * 0.16} ${height * 0.8}H${x - breadth - width * 0.16}Z" fill="url(#ray)" opacity="${random.between(0.35, 0.8).toFixed(2)}"/>`
  }
  return layerOf(stripFor(shape, 0), 0, height * 0.8, art)
}

function rocks(plan: ScenePlan, shape: FilmShape, speed: number): Layer {
  const random = randomFrom(plan.seed, 'rocks')
  const { palette } = plan
  const { height, unit } = shape
  const strip = stripFor(shape, speed)
  const crest = roughness(random, strip, { featurePx: 420 * unit, octaves: 4 })
  const profile = traceProfile(strip, 4 * unit, (x) => height * 0.66 - 70 * unit * crest(x))
  const body = mix(palette.far, palette.near, 0.25)
  const art = `<defs>${verticalGradient('body', profile.highest, height, [
    [0, body],
    [1, palette.near],
  ])}</defs><path d="${areaBelow(profile, height)}" fill="url(#body)" opacity="0.8"/>`
  return layerOf(strip, profile.highest, height, art)
}

function weeds(plan: ScenePlan, shape: FilmShape, speed: number): Layer {
  const random = randomFrom(plan.seed, 'weeds')
  const { height, unit } = shape
  const lit = litIn(plan)
  const strip = stripFor(shape, speed)
  const foot = height * 0.76
  let art = ''
  const count = Math.max(4, Math.round(strip.period / (120 * unit)))
  for (let plant = 0; plant < count; plant++) {
    const x0 = ((plant + random.next()) / count) * strip.period
    const size = unit * random.between(60, 150)
    const coral = random.chance(0.4)
    const tone = lit(
      coral ? random.pick(['#e8707a', '#f0a04c', '#b57fd0']) : random.pick(['#3f9a6a', '#2f8578']),
    )
    repeatAlong(strip, x0, size, (x) => {
      art += coral
        ? `<g fill="none" stroke="${tone}" stroke-linecap="round" stroke-width="${11 * unit}"><path d="M${x} ${foot}V${foot - size * 0.5}M${x} ${foot - size * 0.2}q${-size * 0.3} ${-size * 0.05} ${-size * 0.28} ${-size * 0.36}M${x} ${foot - size * 0.26}q${size * 0.3} ${-size * 0.05} ${size * 0.3} ${-size * 0.34}"/></g>`
        : `<path d="M${x} ${foot}c${-size * 0.2} ${-size * 0.35} ${size * 0.25} ${-size * 0.6} 0 ${-size}c${size * 0.36} ${size * 0.4} ${-size * 0.06} ${size * 0.6} ${size * 0.16} ${size}Z" fill="${tone}"/>`
    })
  }
  return layerOf(strip, foot - 160 * unit, height, art)
}
