import path from 'node:path'

import sharp from 'sharp'

import { mix } from '../drawing/colour.ts'
import { addSource, addStill, emptyGraph, overlay, type FilmGraph } from '../drawing/film-graph.ts'
import { evenCeil, framesPerSecond, type FilmShape } from '../drawing/film-shape.ts'
import type { Light } from '../scenes/celestial.ts'
import { landscapeLayers, paintLayers, type LayerImage } from '../scenes/landscape.ts'
import { driftingMist, mistFramesPerSecond } from '../scenes/mist.ts'
import type { ScenePlan } from '../scenes/scene-plan.ts'
import { glitterFramesPerSecond, seaGlitter } from '../scenes/seascape.ts'
import { horizonLine, paintSky, placeLight } from '../scenes/sky.ts'
import { addSprite } from '../scenes/sprite.ts'
import { addWeather } from '../scenes/weather.ts'
import { paintSubjects } from '../staging/stage.ts'
import type { Element } from './components-film.ts'

/**
 * Paints the scene into `directory` and returns the graph that animates it. `elements` are part of the scene, farthest first.
 * In a crowded film the subjects of the scene are small.
 */
export async function filmLandscape(
  plan: ScenePlan,
  shape: FilmShape,
  directory: string,
  elements: Element[] = [],
  crowded = elements.length > 0,
): Promise<FilmGraph> {
  const light = placeLight(plan, shape)
  const [layers, subjects] = await Promise.all([
    paintLayers(landscapeLayers(plan, shape), directory),
    paintSubjects(plan, shape, light, { directory, crowded }),
    paintSky(plan, shape, light, path.join(directory, 'sky.png')),
  ])
  const graph = emptyGraph()
  const covered = new Set([
    ...subjects.map(({ behindLayer }) => behindLayer),
    ...elements.map((element) => elementDepth(element, plan)),
  ])
  const merged = stillLayers(layers, plan, covered)
  graph.image = addStill(graph, await mergeBackdrop(layers.slice(0, merged), directory), 'yuv420p')
  layers.forEach((layer, index) => {
    if (index < merged) return
    // The nearest layer is in front of the mist, for depth.
    if (index === layers.length - 1 && hasMist(plan)) addMist(graph, plan, shape)
    if (plan.biome === 'water' && index === 2) addGlitter(graph, plan, shape, light)
    for (const subject of subjects) if (subject.behindLayer === index) addSprite(graph, subject)
    for (const element of elements) if (elementDepth(element, plan) === index) addSprite(graph, element)
    overlay(graph, addStill(graph, layer.fileName, 'yuva420p'), passingBy(layer, plan, shape))
  })
  for (const subject of subjects) if (subject.behindLayer >= layers.length) addSprite(graph, subject)
  if (plan.weather !== undefined) addWeather(graph, plan.weather, plan, shape)
  for (const element of elements) if (elementDepth(element, plan) >= layers.length) addSprite(graph, element)
  return graph
}

/** The number of farthest layers that do not move and have nothing moving between them. */
function stillLayers(layers: LayerImage[], plan: ScenePlan, covered: ReadonlySet<number>): number {
  const moving = layers.findIndex(
    (layer, index) =>
      layer.speed > 0 ||
      covered.has(index) ||
      (plan.biome === 'water' && index === 2) ||
      (hasMist(plan) && index === layers.length - 1),
  )
  return moving === -1 ? layers.length : moving
}

/** Merges the sky and the still layers into one image, which saves one blend per frame and layer. */
async function mergeBackdrop(layers: LayerImage[], directory: string): Promise<string> {
  if (layers.length === 0) return 'sky.png'
  const parts = layers.map(({ fileName, top }) => ({ input: path.join(directory, fileName), left: 0, top }))
  await sharp(path.join(directory, 'sky.png'))
    .composite(parts)
    .png({ compressionLevel: 1 })
    .toFile(path.join(directory, 'backdrop.png'))
  return 'backdrop.png'
}

/** The index of the layer in front of an element; the nearest elements have no layer in front of them. */
function elementDepth(element: Element, plan: ScenePlan): number {
  // The nearest trees of a forest span the whole frame and would hide the elements.
  return element.nearness >= 1 || plan.biome === 'forest' ? 4 : element.nearness >= 0.5 ? 3 : 2
}

function passingBy(layer: LayerImage, plan: ScenePlan, shape: FilmShape): string {
  if (layer.speed === 0) return `x=0:y=${layer.top}`
  const passed = `mod(n*${layer.speed},${layer.period})`
  const x = plan.direction === 'left' ? `-${passed}` : `${passed}-${layer.width - shape.width}`
  return `x='${x}':y=${layer.top}:eval=frame`
}

function hasMist(plan: ScenePlan): boolean {
  return plan.biome !== 'room' && plan.biome !== 'moon'
}

export function addMist(graph: FilmGraph, plan: ScenePlan, shape: FilmShape, share = 1): void {
  const mist = driftingMist({ ...plan, mistStrength: plan.mistStrength * share }, shape)
  const label = addSource(
    graph,
    { ...mist, framesPerSecond: mistFramesPerSecond, frameCount: framesNeeded(shape, mistFramesPerSecond) },
    { colour: plan.palette.mist, width: shape.width, height: shape.height },
  )
  overlay(graph, label, 'x=0:y=0')
}

function addGlitter(graph: FilmGraph, plan: ScenePlan, shape: FilmShape, light: Light): void {
  const glitter = seaGlitter(plan, shape, light)
  const top = horizonLine(plan, shape)
  const label = addSource(
    graph,
    {
      ...glitter,
      framesPerSecond: glitterFramesPerSecond,
      frameCount: framesNeeded(shape, glitterFramesPerSecond),
    },
    {
      colour: mix(plan.palette.light, plan.palette.horizon, 0.25),
      width: shape.width,
      height: evenCeil(shape.height - top),
    },
  )
  overlay(graph, label, `x=0:y=${top}`)
}

function framesNeeded(shape: FilmShape, rate: number): number {
  return Math.ceil((shape.frameCount * rate) / framesPerSecond) + 1
}
