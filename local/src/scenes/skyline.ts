import { mix } from '../drawing/colour.ts'
import type { FilmShape } from '../drawing/film-shape.ts'
import { randomFrom, type Random } from '../drawing/random.ts'
import type { ScenePlan } from './scene-plan.ts'
import {
  layerOf,
  layerSpeeds,
  repeatAlong,
  stripFor,
  verticalGradient,
  type Layer,
  type Strip,
} from './terrain.ts'

export function cityLayers(plan: ScenePlan, shape: FilmShape): Layer[] {
  return layerSpeeds(plan).map((speed, index) => cityLayer(plan, shape, speed, index))
}

interface Art {
  walls: string
  edges: string
  warm: string
  cool: string
  signs: string
  highest: number
}

function cityLayer(plan: ScenePlan, shape: FilmShape, speed: number, index: number): Layer {
  const random = randomFrom(plan.seed, `city ${index}`)
  const { palette } = plan
  const { height, unit } = shape
  const strip = stripFor(shape, speed)
  const base = height * [0.62, 0.7, 0.8, 0.93][index]!
  const reach = (0.6 * height + 288 * unit) * [0.3, 0.29, 0.27, 0.2][index]!
  const art: Art = { walls: '', edges: '', warm: '', cool: '', signs: '', highest: height }

  let x = 0
  while (x < strip.period) {
    const width = Math.round(unit * random.between(34, 84) * (0.8 + 0.24 * index))
    const right = Math.min(strip.period, x + width)
    const tall = reach * (0.22 + 0.78 * random.next() ** 2.1)
    building(art, random, strip, { x, width: right - x, top: base - tall, index, height, plan })
    x = right + (random.chance(0.18) ? Math.round(unit * random.between(4, 18)) : 0)
  }

  const body = mix(palette.far, palette.near, [0.18, 0.52, 0.8, 1][index]!)
  const foot = index === 3 ? mix(body, '#000000', 0.3) : mix(body, palette.horizon, 0.3 - 0.06 * index)
  const glow = [0, 0.5, 0.75, 0.85][index]!
  const image = `<defs>${verticalGradient('body', art.highest, height, [
    [0, body],
    [1, foot],
  ])}</defs><path d="${art.walls}" fill="url(#body)"/><path d="${art.edges}" fill="${mix(body, palette.light, 0.5)}" opacity="${0.22 - 0.03 * index}"/><path d="${art.warm}" fill="#ffd595" opacity="${glow}"/><path d="${art.cool}" fill="${mix(palette.light, '#9fe8ff', 0.5)}" opacity="${glow}"/>${art.signs}`
  return layerOf(strip, art.highest - 4 * unit, height, image)
}

interface Site {
  x: number
  width: number
  top: number
  index: number
  height: number
  plan: ScenePlan
}

function building(art: Art, random: Random, strip: Strip, site: Site): void {
  const { unit } = strip
  const { width, top, index } = site
  const setback = random.chance(0.35) ? unit * random.between(14, 46) : 0
  const mast = random.chance(0.2) ? unit * random.between(20, 58) : 0
  const inset = Math.round(width * 0.18)
  art.highest = Math.min(art.highest, top - setback - mast)
  repeatAlong(strip, site.x, width, (x) => {
    art.walls += box(x, top, width, site.height - top)
    art.edges += box(x, top, Math.max(1, 1.4 * unit), site.height - top)
    if (setback > 0) art.walls += box(x + inset, top - setback, width - 2 * inset, setback + 1)
    if (mast > 0) art.walls += box(x + width / 2, top - setback - mast, Math.max(1, 1.6 * unit), mast + 1)
  })
  if (index > 0) windows(art, random, strip, site)
  if (index >= 2 && random.chance(0.24)) sign(art, random, strip, site)
}

/** Lit windows on a grid; some rows are completely dark. */
function windows(art: Art, random: Random, strip: Strip, site: Site): void {
  const { unit } = strip
  const scale = unit * (0.7 + 0.26 * site.index)
  const pane = { width: Math.max(1, 3.4 * scale), height: Math.max(1, 4.6 * scale) }
  const pitch = { x: 8.2 * scale, y: 11.5 * scale }
  const columns = Math.floor((site.width - pitch.x * 0.8) / pitch.x)
  const rows = Math.floor(Math.min(site.height - site.top - pitch.y, 360 * unit) / pitch.y)
  const margin = (site.width - columns * pitch.x + pitch.x - pane.width) / 2
  const busy = random.between(0.1, 0.6)
  const cool = random.chance(0.4)
  for (let row = 0; row < rows; row++) {
    const rowBusy = busy * (random.chance(0.2) ? 0.15 : random.between(0.6, 1.3))
    for (let column = 0; column < columns; column++) {
      if (!random.chance(rowBusy)) continue
      const y = site.top + pitch.y * (row + 0.8)
      repeatAlong(strip, site.x + margin + column * pitch.x, pitch.x, (x) => {
        if (cool) art.cool += box(x, y, pane.width, pane.height)
        else art.warm += box(x, y, pane.width, pane.height)
      })
    }
  }
}

function sign(art: Art, random: Random, strip: Strip, site: Site): void {
  const { unit } = strip
  const { palette } = site.plan
  const colour = random.pick([palette.horizon, '#37e6ff', '#ffd166', palette.mist])
  const height = unit * random.between(40, 110)
  const width = unit * random.between(7, 12)
  const y = site.top + unit * random.between(12, 50)
  const x0 = site.x + site.width * random.between(0.2, 0.75)
  repeatAlong(strip, x0, 60 * unit, (x) => {
    for (const [halo, opacity] of [
      [9, 0.1],
      [4.5, 0.18],
      [0, 0.92],
    ] as const) {
      const grow = halo * unit
      art.signs += `<rect x="${(x - grow).toFixed(1)}" y="${(y - grow).toFixed(1)}" width="${(width + 2 * grow).toFixed(1)}" height="${(height + 2 * grow).toFixed(1)}" rx="${(3 * unit + grow).toFixed(1)}" fill="${colour}" opacity="${opacity}"/>`
    }
  })
}

function box(x: number, y: number, width: number, height: number): string {
  return `M${x.toFixed(1)} ${y.toFixed(1)}h${width.toFixed(1)}v${height.toFixed(1)}h${(-width).toFixed(1)}z`
}
