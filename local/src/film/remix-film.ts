import { writeFile } from 'node:fs/promises'
import path from 'node:path'

import sharp from 'sharp'

import { mix } from '../drawing/colour.ts'
import { addInput, addStill, emptyGraph, overlay, type FilmGraph } from '../drawing/film-graph.ts'
import { framesPerSecond, type FilmShape } from '../drawing/film-shape.ts'
import type { PaletteName } from '../drawing/palette.ts'
import type { WeatherName } from '../prompt/scene-words.ts'
import type { ScenePlan } from '../scenes/scene-plan.ts'
import { placeLight } from '../scenes/sky.ts'
import { addWeather } from '../scenes/weather.ts'
import { gradeCube } from './grade.ts'
import { addMist } from './landscape-film.ts'
import type { SourceClip } from './source-clip.ts'

/** The particles of each palette, unless the prompt names others. */
const defaultWeather: Record<PaletteName, WeatherName> = {
  dawn: 'motes',
  day: 'motes',
  sunset: 'motes',
  night: 'stars',
  forest: 'motes',
  desert: 'motes',
  ice: 'snow',
  ember: 'embers',
  neon: 'motes',
  autumn: 'leaves',
  blossom: 'petals',
  storm: 'rain',
  deep: 'bubbles',
}

const misty = new Set<PaletteName>(['dawn', 'forest', 'ice', 'storm'])

/** Keeps the colours of a film, unless the prompt names another light; then light and particles change to it. */
export async function filmRemix(
  plan: ScenePlan,
  shape: FilmShape,
  clip: SourceClip,
  directory: string,
): Promise<FilmGraph> {
  const graph = emptyGraph()
  const { light, weather, mist } = plan.named
  const input = addInput(graph, '-stream_loop', '-1', '-i', clip.fileName)
  if (!light) {
    graph.filters.push(`[${input}:v]setpts=N/${framesPerSecond}/TB,format=yuv420p[source]`)
    graph.image = 'source'
    if (mist) addMist(graph, plan, shape, 0.6)
    if (weather !== undefined) addWeather(graph, weather, plan, shape)
    return graph
  }
  await Promise.all([
    writeFile(path.join(directory, 'grade.cube'), gradeCube(plan)),
    paintAtmosphere(plan, shape, path.join(directory, 'atmosphere.png')),
  ])
  graph.filters.push(
    `[${input}:v]setpts=N/${framesPerSecond}/TB,scale=in_color_matrix=bt709:in_range=tv,format=gbrp,lut3d=file=grade.cube,scale=out_color_matrix=bt709:out_range=tv,format=yuv420p[graded]`,
  )
  graph.image = 'graded'
  overlay(graph, addStill(graph, 'atmosphere.png', 'yuva420p'), 'x=0:y=0')
  if (misty.has(plan.paletteName) || mist) addMist(graph, plan, shape, 0.6)
  addWeather(graph, weather ?? defaultWeather[plan.paletteName], plan, shape)
  return graph
}

/** Paints the glow of the sun or moon, and the colour of the sky from above. */
async function paintAtmosphere(plan: ScenePlan, shape: FilmShape, file: string): Promise<void> {
  const { palette, paletteName } = plan
  const { width, height } = shape
  const light = placeLight(plan, shape)
  const dark = plan.light === 'moon'
  const reach = Math.max(width, height) * (dark ? 0.5 : 0.75)
  const glow = dark ? 0.22 : 0.42
  const top = dark || paletteName === 'storm' || paletteName === 'ember' ? 0.6 : 0.3
  const edge = paletteName === 'ice' ? '#f4fbff' : mix(palette.near, '#000000', 0.4)
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><defs><linearGradient id="sky" x1="0" y1="0" x2="0" y2="1"><stop offset="0" stop-color="${palette.zenith}" stop-opacity="${top}"/><stop offset="0.55" stop-color="${palette.sky}" stop-opacity="0"/></linearGradient><radialGradient id="light" gradientUnits="userSpaceOnUse" cx="${light.x}" cy="${light.y}" r="${reach}"><stop offset="0" stop-color="${palette.light}" stop-opacity="${glow}"/><stop offset="0.4" stop-color="${palette.horizon}" stop-opacity="${glow * 0.42}"/><stop offset="1" stop-color="${palette.horizon}" stop-opacity="0"/></radialGradient><radialGradient id="edge" cx="0.5" cy="0.5" r="0.76"><stop offset="0.6" stop-color="${edge}" stop-opacity="0"/><stop offset="1" stop-color="${edge}" stop-opacity="${paletteName === 'ice' ? 0.6 : 0.55}"/></radialGradient><linearGradient id="left"><stop offset="0" stop-color="${palette.horizon}" stop-opacity="0.5"/><stop offset="0.42" stop-color="${palette.horizon}" stop-opacity="0"/></linearGradient><linearGradient id="right"><stop offset="0.58" stop-color="#22d3ff" stop-opacity="0"/><stop offset="1" stop-color="#22d3ff" stop-opacity="0.42"/></linearGradient></defs><rect width="${width}" height="${height}" fill="url(#sky)"/><rect width="${width}" height="${height}" fill="url(#light)"/>${paletteName === 'neon' ? `<rect width="${width}" height="${height}" fill="url(#left)"/><rect width="${width}" height="${height}" fill="url(#right)"/>` : ''}<rect width="${width}" height="${height}" fill="url(#edge)"/></svg>`
  await sharp(Buffer.from(svg)).png({ compressionLevel: 1 }).toFile(file)
}
