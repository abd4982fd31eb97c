import path from 'node:path'

import sharp from 'sharp'

import { mix } from '../drawing/colour.ts'
import { addStill, emptyGraph, overlay, type Box, type FilmGraph } from '../drawing/film-graph.ts'
import { evenCeil, evenFloor, framesPerSecond, type FilmShape } from '../drawing/film-shape.ts'
import { randomFrom } from '../drawing/random.ts'
import type { ScenePlan } from '../scenes/scene-plan.ts'
import { addSprite, swaying } from '../scenes/sprite.ts'
import { addWeather } from '../scenes/weather.ts'
import { escapeMarkup } from './caption.ts'
import { layoutTitle, lineHeight } from './title-lines.ts'

interface Circle {
  x: number
  y: number
  radius: number
}

interface CardLayout {
  /** The area of the title. Its text is at the left, and at the bottom if `isBottom`, else in the middle. */
  title: Box
  isBottom: boolean
  sizeMax: number
  disc: Circle
  ring: Circle
}

/** In a wide film the title is beside the disc, in others below it. */
function layoutCard({ width, height, unit }: FilmShape): CardLayout {
  const share = (x: number, y: number, radius: number) => ({
    x: width * x,
    y: height * y,
    radius: Math.min(width, height) * radius,
  })
  const wide = width > height * 1.2
  const tall = height > width * 1.2
  const title = wide
    ? { x: width * 0.08, y: height * 0.2, width: width * 0.64, height: height * 0.58 }
    : { x: width * 0.1, y: height * 0.4, width: width * 0.8, height: height * (tall ? 0.46 : 0.48) }
  return {
    title,
    isBottom: !wide,
    sizeMax: (wide ? 96 : tall ? 84 : 74) * unit,
    disc: wide ? share(0.9, 0.42, 0.3) : tall ? share(0.76, 0.19, 0.3) : share(0.8, 0.2, 0.21),
    ring: wide ? share(0.97, 0.72, 0.34) : tall ? share(0.98, 0.3, 0.34) : share(0.98, 0.32, 0.22),
  }
}

/**
 * Shows the prompt as a title, for prompts that name nothing that can be drawn: the palette of the prompt, a disc and a ring
 * that drift, and text that slides in.
 */
export async function filmTitleCard(
  plan: ScenePlan,
  shape: FilmShape,
  text: string,
  directory: string,
): Promise<FilmGraph> {
  const layout = layoutCard(shape)
  const random = randomFrom(plan.seed, 'card')
  const [title] = await Promise.all([
    paintTitle(text, plan, layout, path.join(directory, 'title.png')),
    paintBackground(plan, shape, layout, path.join(directory, 'background.png')),
    paintDisc(plan, layout.disc, path.join(directory, 'disc.png')),
    paintRing(plan, layout.ring, shape, path.join(directory, 'ring.png')),
  ])
  const graph = emptyGraph()
  graph.image = addStill(graph, 'background.png', 'yuv420p')
  const drift = (plan.direction === 'left' ? -1 : 1) * Math.min(shape.width * 0.05, shape.frameCount * 0.2)
  const float = (fileName: string, circle: Circle, travel: number, swayFrames: number) => ({
    fileName,
    x: swaying({
      ...{ start: circle.x - spriteSize(circle) / 2 - travel / 2, travel, frameCount: shape.frameCount },
      ...{ sway: 0, swayFrames, phase: 0 },
    }),
    y: swaying({
      ...{ start: circle.y - spriteSize(circle) / 2, travel: 0, frameCount: shape.frameCount },
      ...{ sway: 7 * shape.unit, swayFrames, phase: random.between(0, 6) },
    }),
  })
  addSprite(graph, float('disc.png', layout.disc, drift, 170))
  addSprite(graph, float('ring.png', layout.ring, -drift * 1.6, 130))
  addWeather(graph, plan.weather ?? 'motes', plan, shape)
  addTitle(graph, title, shape)
  graph.texts.push(title)
  return graph
}

/** The text slides up by this part of the film's height while it fades in. */
const slide = 0.035

function addTitle(graph: FilmGraph, { x, y }: Box, { seconds, height }: FilmShape): void {
  const start = Math.min(0.25, seconds * 0.06)
  const duration = Math.min(0.9, seconds * 0.2)
  const label = addStill(graph, 'title.png', 'yuva420p')
  graph.filters.push(`[${label}]fade=t=in:st=${start.toFixed(3)}:d=${duration.toFixed(3)}:alpha=1[title]`)
  const left = `clip(1-(n/${framesPerSecond}-${start.toFixed(3)})/${duration.toFixed(3)},0,1)`
  overlay(graph, 'title', `x=${x}:y='${y}+round(${(height * slide).toFixed(1)}*pow(${left},3))':eval=frame`)
}

/** Paints the text with a short bar above it, and returns its box in the film. */
async function paintTitle(text: string, plan: ScenePlan, layout: CardLayout, file: string): Promise<Box> {
  const area = layout.title
  const { lines, fontSize } = layoutTitle(text, { ...area, sizeMax: layout.sizeMax })
  const colour = mix('#ffffff', plan.palette.light, 0.18)
  const painted = await sharp({
    text: {
      text: `<span foreground="${colour}" weight="800" letter_spacing="-160">${lines.map(escapeMarkup).join('\n')}</span>`,
      font: 'Inter',
      rgba: true,
      // Pango's default size is 12 points; the resolution turns that into pixels.
      dpi: Math.max(1, Math.round((72 * fontSize) / 12)),
      spacing: Math.round(fontSize * (lineHeight - 1.16)),
    },
  })
    .png()
    .toBuffer()
  // The widths of letters were estimated.
  const fitted = await sharp(painted)
    .resize({
      width: Math.floor(area.width),
      height: Math.floor(area.height),
      fit: 'inside',
      withoutEnlargement: true,
    })
    .png()
    .toBuffer({ resolveWithObject: true })
  const bar = { width: Math.max(2, fontSize * 0.9), height: Math.max(2, fontSize * 0.085) }
  const gap = Math.round(fontSize * 0.5)
  const width = evenCeil(Math.max(fitted.info.width, bar.width))
  const height = evenCeil(fitted.info.height + gap + bar.height)
  const accent = mix(plan.palette.horizon, plan.palette.light, 0.45)
  const bars = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><rect width="${bar.width}" height="${bar.height}" rx="${bar.height / 2}" fill="${accent}"/></svg>`
  await sharp(Buffer.from(bars))
    .composite([{ input: fitted.data, left: 0, top: Math.floor(height - fitted.info.height) }])
    .png()
    .toFile(file)
  const top = layout.isBottom ? area.y + area.height - height : area.y + (area.height - height) / 2
  return { x: evenFloor(area.x), y: Math.max(0, evenFloor(top)), width, height }
}

async function paintBackground(
  plan: ScenePlan,
  shape: FilmShape,
  layout: CardLayout,
  file: string,
): Promise<void> {
  const { palette } = plan
  const { width, height } = shape
  const dark = mix(palette.near, '#05060c', 0.25)
  const { disc } = layout
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><defs><linearGradient id="ground" x1="0" y1="1" x2="1" y2="0"><stop offset="0" stop-color="${dark}"/><stop offset="0.55" stop-color="${mix(dark, palette.zenith, 0.45)}"/><stop offset="1" stop-color="${mix(dark, mix(palette.zenith, palette.sky, 0.5), 0.72)}"/></linearGradient><radialGradient id="glow" gradientUnits="userSpaceOnUse" cx="${disc.x}" cy="${disc.y}" r="${disc.radius * 2.6}"><stop offset="0.2" stop-color="${palette.sky}" stop-opacity="0.55"/><stop offset="1" stop-color="${palette.sky}" stop-opacity="0"/></radialGradient></defs><rect width="${width}" height="${height}" fill="url(#ground)"/><rect width="${width}" height="${height}" fill="url(#glow)"/></svg>`
  await sharp(Buffer.from(svg)).png({ compressionLevel: 1 }).toFile(file)
}

function spriteSize({ radius }: Circle): number {
  return evenCeil(radius * 2.1)
}

async function paintDisc({ palette }: ScenePlan, circle: Circle, file: string): Promise<void> {
  const size = spriteSize(circle)
  const top = mix(palette.light, palette.horizon, 0.3)
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${size}" height="${size}"><defs><linearGradient id="disc" x1="0.3" y1="0" x2="0.6" y2="1"><stop offset="0" stop-color="${top}"/><stop offset="0.55" stop-color="${mix(palette.horizon, palette.sky, 0.4)}"/><stop offset="1" stop-color="${palette.sky}" stop-opacity="0.25"/></linearGradient></defs><circle cx="${size / 2}" cy="${size / 2}" r="${circle.radius}" fill="url(#disc)"/></svg>`
  await sharp(Buffer.from(svg)).png({ compressionLevel: 1 }).toFile(file)
}

async function paintRing(
  { palette }: ScenePlan,
  circle: Circle,
  shape: FilmShape,
  file: string,
): Promise<void> {
  const size = spriteSize(circle)
  const colour = mix(palette.light, palette.horizon, 0.4)
  const rings = [1, 0.86, 0.72]
    .map(
      (share, index) =>
        `<circle cx="${size / 2}" cy="${size / 2}" r="${circle.radius * share}" fill="none" stroke="${colour}" stroke-opacity="${0.5 - index * 0.14}" stroke-width="${Math.max(1, 2.4 * shape.unit)}"/>`,
    )
    .join('')
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${size}" height="${size}">${rings}</svg>`
  await sharp(Buffer.from(svg)).png({ compressionLevel: 1 }).toFile(file)
}
