import path from 'node:path'

import type { Light } from './celestial.ts'
import { mix } from './colour.ts'
import type { Element } from './components-film.ts'
import { paintFigure } from './figure.ts'
import { addSource, addStill, emptyGraph, overlay, type FilmGraph } from './film-graph.ts'
import { evenCeil, framesPerSecond, type FilmShape } from './film-shape.ts'
import { landscapeLayers, paintLayers, type LayerPicture } from './landscape.ts'
import { driftingMist, mistFramesPerSecond } from './mist.ts'
import type { ScenePlan } from './scene-plan.ts'
import { glitterFramesPerSecond, seaGlitter } from './seascape.ts'
import { horizonLine, paintSky, placeLight } from './sky.ts'
import { addSprite } from './sprite.ts'
import { addWeather } from './weather.ts'

/**
 * Paints the scene into `directory` and answers how ffmpeg is to set it in motion. `elements` stand in
 * it, the farthest first.
 */
export async function filmLandscape(
  plan: ScenePlan,
  shape: FilmShape,
  directory: string,
  elements: Element[] = [],
): Promise<FilmGraph> {
  const light = placeLight(plan, shape)
  const [layers, figure] = await Promise.all([
    paintLayers(landscapeLayers(plan, shape), directory),
    paintFigure(plan, shape, light, directory),
    paintSky(plan, shape, light, path.join(directory, 'sky.png')),
  ])
  const graph = emptyGraph()
  graph.picture = addStill(graph, 'sky.png', 'yuv420p')
  layers.forEach((layer, index) => {
    // The nearest layer stays in front of the mist, which is what gives the mist its depth.
    if (index === layers.length - 1) addMist(graph, plan, shape)
    if (plan.biome === 'water' && index === 2) addGlitter(graph, plan, shape, light)
    if (figure !== undefined && index === figureDepth(plan)) addSprite(graph, figure)
    for (const element of elements) if (elementDepth(element, plan) === index) addSprite(graph, element)
    overlay(graph, addStill(graph, layer.fileName, 'yuva420p'), passingBy(layer, plan, shape))
  })
  if (plan.weather !== undefined) addWeather(graph, plan.weather, plan, shape)
  for (const element of elements) if (elementDepth(element, plan) >= layers.length) addSprite(graph, element)
  return graph
}

/** Which layer passes in front of an element; for the nearest there is none. */
function elementDepth(element: Element, plan: ScenePlan): number {
  // The nearest trees of a wood reach over the whole picture and would cross out every element.
  return element.nearness >= 1 || plan.biome === 'forest' ? 4 : element.nearness >= 0.5 ? 3 : 2
}

/** Which layer passes in front of the figure: in the sea the swell, elsewhere only the nearest. */
function figureDepth(plan: ScenePlan): number {
  return plan.biome === 'water' ? 2 : 3
}

function passingBy(layer: LayerPicture, plan: ScenePlan, shape: FilmShape): string {
  if (layer.speed === 0) return `x=0:y=${layer.top}`
  const passed = `mod(n*${layer.speed},${layer.period})`
  const x = plan.direction === 'left' ? `-${passed}` : `${passed}-${layer.width - shape.width}`
  return `x='${x}':y=${layer.top}:eval=frame`
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
