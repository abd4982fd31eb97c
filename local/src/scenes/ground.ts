import { mix, type Colour } from '../drawing/colour.ts'
import type { FilmShape } from '../drawing/film-shape.ts'
import { randomFrom, type Random } from '../drawing/random.ts'
import { litIn, type ScenePlan, type Surface } from './scene-plan.ts'
import {
  areaBelow,
  layerOf,
  layerSpeeds,
  lineOf,
  repeatAlong,
  roughness,
  stripFor,
  traceProfile,
  verticalGradient,
  type Layer,
  type Strip,
} from './terrain.ts'

/** The y coordinate of feet and wheels, above the caption. */
export function footLine(shape: FilmShape): number {
  return Math.round(shape.height * 0.765)
}

const tones: Record<Surface, readonly [upper: Colour, lower: Colour]> = {
  grass: ['#8dbf5f', '#4f8f45'],
  moss: ['#6f9a55', '#3c6238'],
  snow: ['#f4f9fd', '#b9d3e6'],
  sand: ['#efd9a6', '#cfa86c'],
  street: ['#b9bcc4', '#8a8e99'],
  dust: ['#c9703f', '#8f4426'],
  regolith: ['#c4c6cc', '#83868f'],
  floor: ['#b98654', '#8d5f38'],
  table: ['#b98654', '#8d5f38'],
  bed: ['#b98654', '#8d5f38'],
  sofa: ['#b98654', '#8d5f38'],
  stage: ['#e4e2e6', '#b3b1bd'],
}

/** The ground under the subjects; it replaces the nearest layer of scenery. */
export function groundLayer(plan: ScenePlan, surface: Surface, shape: FilmShape): Layer {
  const random = randomFrom(plan.seed, 'ground')
  const { height, unit } = shape
  const strip = stripFor(shape, layerSpeeds(plan)[3]!)
  const lit = litIn(plan)
  const flat = plan.biome === 'room' || surface === 'street' || surface === 'stage'
  const foot = footLine(shape)
  const top = flat ? foot - 46 * unit : foot - 62 * unit
  const swell = roughness(random, strip, { featurePx: 520 * unit, octaves: 2 })
  const profile = traceProfile(strip, 4 * unit, (x) => top - (flat ? 0 : 13 * unit * swell(x)))
  const tint = surface === 'snow' || surface === 'stage' ? plan.palette.mist : plan.palette.far
  const own = surface === 'stage' ? 0.55 : surface === 'grass' || surface === 'moss' ? 0.12 : 0.16
  const colours = tones[surface].map((tone) => mix(lit(tone), tint, own)) as [Colour, Colour]
  const art = `<defs>${verticalGradient('ground', profile.highest, height, [
    [0, colours[0]],
    [1, colours[1]],
  ])}</defs><path d="${areaBelow(profile, height)}" fill="url(#ground)"/><path d="${lineOf(profile)}" fill="none" stroke="${mix(colours[0], '#ffffff', 0.4)}" stroke-opacity="0.5" stroke-width="${2 * unit}"/>`
  const brush: Brush = { plan, strip, random, unit, foot, top, height, lit, colours }
  const rise = surface === 'bed' || surface === 'sofa' ? 160 * unit : 0
  return layerOf(
    strip,
    profile.highest - 3 * unit - rise,
    height,
    art + details[surface](brush) + trackArt(brush),
  )
}

interface Brush {
  plan: ScenePlan
  strip: Strip
  random: Random
  unit: number
  foot: number
  top: number
  height: number
  lit: (colour: Colour) => Colour
  colours: [upper: Colour, lower: Colour]
}

/** Calls `draw` for details scattered over the ground; nearer ones are larger. */
function scatter(brush: Brush, spacing: number, draw: (x: number, y: number, scale: number) => void): void {
  const { random, strip, top, height, unit } = brush
  const count = Math.round((strip.period * (height - top)) / (spacing * unit) ** 2)
  for (let index = 0; index < count; index++) {
    const nearness = random.next()
    const y = top + (height - top) * (0.1 + 0.9 * nearness)
    const x0 = random.next() * strip.period
    repeatAlong(strip, x0, 40 * unit, (x) => draw(x, y, unit * (0.55 + 0.9 * nearness)))
  }
}

const at = (value: number) => value.toFixed(1)

function tufts(brush: Brush, flowers: boolean): string {
  const { lit, colours, random } = brush
  let blades = ''
  scatter(brush, 46, (x, y, scale) => {
    blades += `M${at(x - 6 * scale)} ${at(y)}q${at(2 * scale)} ${at(-8 * scale)} ${at(-2 * scale)} ${at(-13 * scale)}M${at(x)} ${at(y)}v${at(-16 * scale)}M${at(x + 6 * scale)} ${at(y)}q${at(-2 * scale)} ${at(-8 * scale)} ${at(3 * scale)} ${at(-13 * scale)}`
  })
  let blooms = ''
  if (flowers) {
    scatter(brush, 96, (x, y, scale) => {
      const tone = lit(random.pick(['#f6f0e4', '#f2c94c', '#e8708a', '#b58fe0']))
      blooms += `<circle cx="${at(x)}" cy="${at(y - 9 * scale)}" r="${at(4.4 * scale)}" fill="${tone}"/><circle cx="${at(x)}" cy="${at(y - 9 * scale)}" r="${at(1.7 * scale)}" fill="${lit('#f4a62e')}"/>`
    })
  }
  return `<path d="${blades}" fill="none" stroke="${mix(colours[1], '#1d4a24', 0.3)}" stroke-width="${at(2 * brush.unit)}" stroke-opacity="0.55" stroke-linecap="round"/>${blooms}`
}

function specks(brush: Brush, spacing: number, colour: Colour, opacity: number): string {
  let marks = ''
  scatter(brush, spacing, (x, y, scale) => {
    marks += `<ellipse cx="${at(x)}" cy="${at(y)}" rx="${at(7 * scale)}" ry="${at(2.4 * scale)}" fill="${colour}" opacity="${opacity}"/>`
  })
  return marks
}

function boards(brush: Brush): string {
  const { strip, top, height, unit, colours, random } = brush
  let lines = ''
  for (let y = top + 16 * unit; y < height; y += (y - top) * 0.55 + 16 * unit) {
    lines += `M0 ${at(y)}H${strip.width}`
    for (let x = random.between(0, 200) * unit; x < strip.width; x += random.between(160, 320) * unit) {
      lines += `M${at(x)} ${at(y)}v${at(-12 * unit)}`
    }
  }
  return `<path d="${lines}" fill="none" stroke="${mix(colours[1], '#2a1a10', 0.4)}" stroke-opacity="0.4" stroke-width="${at(1.6 * unit)}"/>`
}

function craters(brush: Brush): string {
  const { colours, unit } = brush
  let art = ''
  scatter(brush, 150, (x, y, scale) => {
    art += `<ellipse cx="${at(x)}" cy="${at(y)}" rx="${at(26 * scale)}" ry="${at(7 * scale)}" fill="${mix(colours[1], '#2a0f08', 0.35)}" opacity="0.55"/><path d="M${at(x - 26 * scale)} ${at(y)}a${at(26 * scale)} ${at(7 * scale)} 0 0 0 ${at(52 * scale)} 0" fill="none" stroke="${mix(colours[0], '#ffffff', 0.3)}" stroke-opacity="0.5" stroke-width="${at(2 * unit)}"/>`
  })
  return art
}

function street(brush: Brush): string {
  const { strip, foot, unit, lit, height } = brush
  const kerb = foot - 26 * unit
  let dashes = ''
  for (let x0 = 0; x0 < strip.period; x0 += strip.period / Math.round(strip.period / (150 * unit))) {
    repeatAlong(strip, x0, 90 * unit, (x) => {
      dashes += `M${at(x)} ${at(foot + 30 * unit)}h${at(70 * unit)}`
    })
  }
  return `<rect x="0" y="${at(kerb)}" width="${strip.width}" height="${at(height - kerb)}" fill="${lit('#5a5d68')}"/><rect x="0" y="${at(kerb)}" width="${strip.width}" height="${at(6 * unit)}" fill="${lit('#d5d7dc')}"/><path d="${dashes}" stroke="${lit('#f0ead6')}" stroke-width="${at(6 * unit)}" stroke-opacity="0.85"/>`
}

/** A floor with a table that spans most of the frame. */
function table(brush: Brush): string {
  const { strip, foot, unit, lit, height } = brush
  const inset = strip.width * 0.1
  const top = lit('#c9915a')
  const edge = lit('#99673a')
  const legs = [inset + 40 * unit, strip.width - inset - 66 * unit]
    .map(
      (x) =>
        `<rect x="${at(x)}" y="${at(foot + 20 * unit)}" width="${at(26 * unit)}" height="${at(height - foot)}" fill="${lit('#83562f')}"/>`,
    )
    .join('')
  return `${boards(brush)}${legs}<path d="M${at(inset + 46 * unit)} ${at(foot - 20 * unit)}H${at(strip.width - inset - 46 * unit)}L${at(strip.width - inset)} ${at(foot + 20 * unit)}H${at(inset)}Z" fill="${top}"/><rect x="${at(inset)}" y="${at(foot + 20 * unit)}" width="${at(strip.width - 2 * inset)}" height="${at(20 * unit)}" rx="${at(4 * unit)}" fill="${edge}"/>`
}

const box = (x: number, y: number, width: number, height: number, radius: number, fill: Colour) =>
  `<rect x="${at(x)}" y="${at(y)}" width="${at(width)}" height="${at(height)}" rx="${at(radius)}" fill="${fill}"/>`

function bed(brush: Brush): string {
  const { strip, foot, unit, lit, height } = brush
  const left = strip.width * 0.12
  const width = strip.width * 0.76
  const wood = lit('#8a5a36')
  return `${boards(brush)}${box(left - 16 * unit, foot - 150 * unit, 28 * unit, height, 10 * unit, wood)}${box(left + width - 12 * unit, foot - 60 * unit, 28 * unit, height, 10 * unit, wood)}${box(left, foot - 26 * unit, width, 100 * unit, 22 * unit, lit('#f6f2ea'))}${box(left + 14 * unit, foot - 62 * unit, 150 * unit, 56 * unit, 26 * unit, lit('#fdfbf6'))}<path d="M${at(left + 150 * unit)} ${at(foot - 26 * unit)}H${at(left + width)}V${at(foot + 96 * unit)}H${at(left + 130 * unit)}Q${at(left + 160 * unit)} ${at(foot + 30 * unit)} ${at(left + 150 * unit)} ${at(foot - 26 * unit)}Z" fill="${lit('#6f9fc4')}"/>`
}

function sofa(brush: Brush): string {
  const { strip, foot, unit, lit } = brush
  const left = strip.width * 0.16
  const width = strip.width * 0.68
  const cloth = lit('#5f8f8a')
  const shade = mix(cloth, '#14222a', 0.2)
  return `${boards(brush)}${box(left, foot - 150 * unit, width, 190 * unit, 30 * unit, shade)}${box(left + 30 * unit, foot - 22 * unit, width / 2 - 32 * unit, 64 * unit, 16 * unit, cloth)}${box(left + width / 2 + 2 * unit, foot - 22 * unit, width / 2 - 32 * unit, 64 * unit, 16 * unit, cloth)}${box(left - 26 * unit, foot - 76 * unit, 62 * unit, 140 * unit, 28 * unit, cloth)}${box(left + width - 36 * unit, foot - 76 * unit, 62 * unit, 140 * unit, 28 * unit, cloth)}${box(left + 10 * unit, foot + 38 * unit, width - 20 * unit, 30 * unit, 10 * unit, shade)}`
}

const details: Record<Surface, (brush: Brush) => string> = {
  grass: (brush) => tufts(brush, brush.plan.biome === 'meadow'),
  moss: (brush) => tufts(brush, false),
  snow: (brush) => specks(brush, 90, '#ffffff', 0.7),
  sand: (brush) => specks(brush, 70, mix(brush.colours[1], '#7a5a30', 0.3), 0.28),
  street,
  dust: craters,
  regolith: craters,
  floor: boards,
  table,
  bed,
  sofa,
  stage: () => '',
}

/** A country road or a railway, centred under the wheels. */
function trackArt({ plan, strip, foot, unit, lit }: Brush): string {
  if (plan.track === undefined) return ''
  const width = strip.width
  if (plan.track === 'road') {
    let dashes = ''
    const pitch = strip.period / Math.max(1, Math.round(strip.period / (140 * unit)))
    for (let x = 0; x < width; x += pitch) dashes += `M${at(x)} ${at(foot + 24 * unit)}h${at(pitch * 0.45)}`
    return `<rect x="0" y="${at(foot - 22 * unit)}" width="${width}" height="${at(86 * unit)}" fill="${lit('#686b75')}"/><rect x="0" y="${at(foot - 22 * unit)}" width="${width}" height="${at(4 * unit)}" fill="${lit('#e9e5d8')}"/><rect x="0" y="${at(foot + 60 * unit)}" width="${width}" height="${at(4 * unit)}" fill="${lit('#e9e5d8')}"/><path d="${dashes}" stroke="${lit('#f3e6b8')}" stroke-width="${at(5 * unit)}"/>`
  }
  let sleepers = ''
  const pitch = strip.period / Math.max(1, Math.round(strip.period / (34 * unit)))
  for (let x = 0; x < width; x += pitch) {
    sleepers += `<rect x="${at(x)}" y="${at(foot + 2 * unit)}" width="${at(pitch * 0.5)}" height="${at(16 * unit)}" fill="${lit('#6a4a33')}"/>`
  }
  return `<rect x="0" y="${at(foot - 6 * unit)}" width="${width}" height="${at(40 * unit)}" fill="${lit('#a39a8c')}"/>${sleepers}<rect x="0" y="${at(foot)}" width="${width}" height="${at(5 * unit)}" fill="${lit('#c3c8d0')}"/><rect x="0" y="${at(foot + 15 * unit)}" width="${width}" height="${at(6 * unit)}" fill="${lit('#9aa0aa')}"/>`
}
