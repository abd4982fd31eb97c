import { mix, rotateHue } from '../drawing/colour.ts'
import type { FilmShape } from '../drawing/film-shape.ts'
import { randomFrom, type Random } from '../drawing/random.ts'
import type { ScenePlan } from './scene-plan.ts'
import {
  areaBelow,
  layerOf,
  lineOf,
  repeatAlong,
  roughness,
  stripFor,
  traceProfile,
  verticalGradient,
  type Layer,
} from './terrain.ts'

export function spaceLayers(plan: ScenePlan, shape: FilmShape): Layer[] {
  return [
    starField(plan, shape, { speed: 1, count: 90, size: 0.9 }),
    planet(plan, shape),
    starField(plan, shape, { speed: 2, count: 26, size: 1.5 }),
    moonscape(plan, shape, 3),
  ]
}

function starField(
  plan: ScenePlan,
  shape: FilmShape,
  field: { speed: number; count: number; size: number },
): Layer {
  const random = randomFrom(plan.seed, `field ${field.speed}`)
  const strip = stripFor(shape, field.speed)
  const count = Math.round((field.count * strip.period) / shape.width)
  let marks = ''
  for (let index = 0; index < count; index++) {
    const x0 = random.next() * strip.period
    const y = random.next() * shape.height
    const radius = field.size * Math.max(0.7, shape.unit) * random.between(0.5, 1.2)
    const opacity = random.between(0.3, 0.9).toFixed(2)
    const tint = random.pick(['#ffffff', '#cfe0ff', '#ffe9cf'])
    repeatAlong(strip, x0, radius, (x) => {
      marks += `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${radius.toFixed(2)}" fill="${tint}" opacity="${opacity}"/>`
    })
  }
  return layerOf(strip, 0, shape.height, marks)
}

/** A ringed planet: the far half of the rings is drawn first, then the globe, then the near half. */
function planet(plan: ScenePlan, shape: FilmShape): Layer {
  const random = randomFrom(plan.seed, 'planet')
  const { palette } = plan
  const { width, height, unit } = shape
  const radius = 720 * unit * random.between(0.22, 0.28)
  const x = width * random.between(0.56, 0.68)
  const y = height * random.between(0.42, 0.5)
  const tilt = random.between(-24, -12)
  const warm = rotateHue('#e8a878', random.between(-40, 70))
  const dark = mix(palette.zenith, '#000000', 0.4)
  const rings = ringBands(random, radius, mix(warm, '#ffffff', 0.45))
  const half = (top: boolean) =>
    `<clipPath id="${top ? 'behind' : 'before'}"><rect x="${-radius * 3}" y="${top ? -radius * 3 : 0}" width="${radius * 6}" height="${radius * 3}"/></clipPath>`
  const bands = cloudBands(random, radius, warm, palette.near)
  const art = `<defs>${half(true)}${half(false)}<clipPath id="globe"><circle r="${radius}"/></clipPath>
<radialGradient id="shade" cx="0.27" cy="0.3" r="0.86"><stop offset="0" stop-color="#ffffff" stop-opacity="0.28"/><stop offset="0.38" stop-color="${dark}" stop-opacity="0.05"/><stop offset="0.72" stop-color="${dark}" stop-opacity="0.72"/><stop offset="1" stop-color="${dark}" stop-opacity="0.97"/></radialGradient>
<radialGradient id="air"><stop offset="0.86" stop-color="${warm}" stop-opacity="0.4"/><stop offset="1" stop-color="${warm}" stop-opacity="0"/></radialGradient></defs>
<g transform="translate(${x} ${y}) rotate(${tilt})"><circle r="${radius * 1.13}" fill="url(#air)"/><g clip-path="url(#behind)" opacity="0.7">${rings}</g><g clip-path="url(#globe)"><rect x="${-radius}" y="${-radius}" width="${radius * 2}" height="${radius * 2}" fill="${warm}"/>${bands}<ellipse cy="${radius * 0.2}" rx="${radius * 1.4}" ry="${radius * 0.2}" fill="${dark}" opacity="0.22"/></g></g><circle cx="${x}" cy="${y}" r="${radius + 0.7}" fill="url(#shade)"/><g transform="translate(${x} ${y}) rotate(${tilt})"><g clip-path="url(#before)">${rings}</g></g>`
  const strip = { ...stripFor(shape, 1), width, period: width, speed: 0 }
  const reach = radius * 2.25 * Math.sin((Math.abs(tilt) * Math.PI) / 180) + radius * 0.6
  const extent = Math.max(radius * 1.15, reach)
  return layerOf(strip, y - extent, y + extent, art)
}

function ringBands(random: Random, radius: number, colour: string): string {
  let bands = ''
  for (let reach = 1.34; reach < 2.2; reach += 0.035) {
    // A dark gap two thirds of the way out, like Saturn's Cassini division.
    const gap = reach > 1.84 && reach < 1.9
    const opacity = gap ? 0.03 : random.between(0.12, 0.62) * (1 - ((reach - 1.34) / 0.86) * 0.45)
    bands += `<ellipse rx="${(radius * reach).toFixed(1)}" ry="${(radius * reach * 0.21).toFixed(1)}" fill="none" stroke="${mix(colour, '#8d7b6a', random.between(0, 0.5))}" stroke-width="${(radius * 0.032).toFixed(2)}" opacity="${opacity.toFixed(2)}"/>`
  }
  return bands
}

function cloudBands(random: Random, radius: number, warm: string, near: string): string {
  let bands = ''
  let y = -radius
  while (y < radius) {
    const thickness = radius * random.between(0.05, 0.2)
    const colour = random.chance(0.5)
      ? mix(warm, '#ffffff', random.between(0.1, 0.4))
      : mix(warm, near, random.between(0.1, 0.4))
    const bow = radius * 0.12
    bands += `<path d="M${-radius} ${y.toFixed(1)}Q0 ${(y + bow).toFixed(1)} ${radius} ${y.toFixed(1)}v${thickness.toFixed(1)}Q0 ${(y + bow + thickness).toFixed(1)} ${-radius} ${(y + thickness).toFixed(1)}Z" fill="${colour}" opacity="0.5"/>`
    y += thickness
  }
  return bands
}

/** The surface of a moon at the bottom of the frame, for depth. */
function moonscape(plan: ScenePlan, shape: FilmShape, speed: number): Layer {
  const random = randomFrom(plan.seed, 'moonscape')
  const { palette } = plan
  const { height, unit } = shape
  const strip = stripFor(shape, speed)
  const ground = roughness(random, strip, { featurePx: 380 * unit, octaves: 5 })
  const profile = traceProfile(strip, 3 * unit, (x) => height * 0.945 - 34 * unit * ground(x))
  const body = mix(palette.near, palette.far, 0.22)
  const art = `<defs>${verticalGradient('body', profile.highest, height, [
    [0, mix(body, palette.light, 0.14)],
    [0.5, body],
    [1, palette.near],
  ])}</defs><path d="${areaBelow(profile, height)}" fill="url(#body)"/><path d="${lineOf(profile)}" fill="none" stroke="${palette.light}" stroke-opacity="0.3" stroke-width="${1.5 * unit}"/>`
  return layerOf(strip, profile.highest - 3 * unit, height, art)
}
