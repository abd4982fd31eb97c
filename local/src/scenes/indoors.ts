import { mix } from '../drawing/colour.ts'
import type { FilmShape } from '../drawing/film-shape.ts'
import { randomFrom } from '../drawing/random.ts'
import { footLine } from './ground.ts'
import { litIn, type ScenePlan } from './scene-plan.ts'
import { layerOf, stripFor, type Layer } from './terrain.ts'

/** A still wall with a window and a framed painting. */
export function roomLayers(plan: ScenePlan, shape: FilmShape): Layer[] {
  const random = randomFrom(plan.seed, 'room')
  const { width, height, unit } = shape
  const lit = litIn(plan)
  const strip = stripFor(shape, 0)
  const wall = lit(random.pick(['#ecd9bd', '#d9e2d3', '#dcd6e6', '#f0dcd0']))
  const trim = lit('#fbf7ef')
  const span = Math.min(width * 0.34, 330 * unit)
  const pane = { x: width * 0.08, y: height * 0.14, width: span, height: Math.min(height * 0.42, 300 * unit) }
  const foot = footLine(shape) - 40 * unit
  const right = pane.x + pane.width
  const bottom = pane.y + pane.height
  const middle = { x: pane.x + pane.width / 2, y: pane.y + pane.height / 2 }
  const bar = 9 * unit
  const curtain = (from: number, to: number) =>
    `<path d="M${from} ${pane.y - 22 * unit}H${to}Q${(from + to) / 2 + (to - from) * 0.1} ${middle.y} ${to} ${bottom + 30 * unit}H${from}Z" fill="${lit('#c96f5d')}"/><path d="M${(from + to) / 2} ${pane.y - 22 * unit}V${bottom + 30 * unit}" stroke="${lit('#a5533f')}" stroke-width="${3 * unit}" stroke-opacity="0.6"/>`
  const frame = { x: width * 0.68, y: height * 0.2, width: 150 * unit, height: 112 * unit }
  const art = `<path fill-rule="evenodd" fill="${wall}" d="M0 0H${width}V${height}H0ZM${pane.x} ${pane.y}V${bottom}H${right}V${pane.y}Z"/>
<g fill="none" stroke="${trim}" stroke-width="${bar}"><rect x="${pane.x}" y="${pane.y}" width="${pane.width}" height="${pane.height}"/><path d="M${middle.x} ${pane.y}V${bottom}M${pane.x} ${middle.y}H${right}"/></g><rect x="${pane.x - 16 * unit}" y="${bottom}" width="${pane.width + 32 * unit}" height="${14 * unit}" fill="${trim}"/>
${curtain(pane.x - 30 * unit, pane.x + 34 * unit)}${curtain(right + 30 * unit, right - 34 * unit)}<rect x="${pane.x - 46 * unit}" y="${pane.y - 32 * unit}" width="${pane.width + 92 * unit}" height="${10 * unit}" rx="${5 * unit}" fill="${lit('#8a5a36')}"/>
<rect x="${frame.x}" y="${frame.y}" width="${frame.width}" height="${frame.height}" fill="${lit('#9a6a3f')}"/><rect x="${frame.x + 9 * unit}" y="${frame.y + 9 * unit}" width="${frame.width - 18 * unit}" height="${frame.height - 18 * unit}" fill="${lit('#cfe6ef')}"/><path d="M${frame.x + 9 * unit} ${frame.y + 84 * unit}l${40 * unit} ${-40 * unit}l${34 * unit} ${30 * unit}l${24 * unit} ${-22 * unit}l${34 * unit} ${32 * unit}v${18 * unit}h${-132 * unit}Z" fill="${lit('#7fae72')}"/><circle cx="${frame.x + 112 * unit}" cy="${frame.y + 34 * unit}" r="${10 * unit}" fill="${lit('#f6d26a')}"/>
<rect x="0" y="${foot - 22 * unit}" width="${width}" height="${22 * unit}" fill="${mix(trim, wall, 0.3)}"/><rect x="0" y="${foot - 24 * unit}" width="${width}" height="${3 * unit}" fill="${mix(wall, '#5a4632', 0.3)}"/>`
  return [layerOf(strip, 0, height, art)]
}
