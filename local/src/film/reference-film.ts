import path from 'node:path'

import { addInput, emptyGraph, type FilmGraph } from '../drawing/film-graph.ts'
import { evenCeil, framesPerSecond, type FilmShape } from '../drawing/film-shape.ts'
import { randomFrom } from '../drawing/random.ts'
import type { ScenePlan } from '../scenes/scene-plan.ts'
import { cropReference } from './image.ts'

const zoomMax = 1.2
const transitions = ['fade', 'dissolve', 'smoothleft', 'fadeblack'] as const

/** A slow zoom over each image, with transitions between them. */
export async function filmReferences(
  plan: ScenePlan,
  shape: FilmShape,
  references: string[],
  directory: string,
): Promise<FilmGraph> {
  const graph = emptyGraph()
  const count = references.length
  const overlapSeconds = count === 1 ? 0 : Math.min(1.2, shape.seconds / (count * 2.5))
  const partSeconds = (shape.seconds + overlapSeconds * (count - 1)) / count
  // One frame more than needed, so that rounding does not shorten the film.
  const partFrames = Math.ceil(partSeconds * framesPerSecond) + 1
  // The zoom moves in whole pixels of its source, so a larger source makes it smoother.
  const oversize = Math.max(1.25, Math.min(1.6, 3000 / Math.max(shape.width, shape.height)))
  const size = { width: evenCeil(shape.width * oversize), height: evenCeil(shape.height * oversize) }

  for (const [index, reference] of references.entries()) {
    const fileName = `reference-${index}.png`
    await cropReference(reference, size, path.join(directory, fileName))
    const random = randomFrom(plan.seed, `reference ${index}`)
    const towards = index % 2 === 0
    const travel = (zoomMax - 1) / partFrames
    const zoom = towards ? `1+${travel.toFixed(7)}*on` : `${zoomMax}-${travel.toFixed(7)}*on`
    const x = random.between(0.3, 0.7).toFixed(3)
    const y = random.between(0.3, 0.6).toFixed(3)
    const input = addInput(graph, '-i', fileName)
    graph.filters.push(
      `[${input}:v]scale=out_color_matrix=bt709:out_range=tv,format=yuv420p,zoompan=z='${zoom}':x='(iw-iw/zoom)*${x}':y='(ih-ih/zoom)*${y}':d=${partFrames}:s=${shape.width}x${shape.height}:fps=${framesPerSecond},setsar=1[part${index}]`,
    )
    if (index === 0) {
      graph.image = 'part0'
      continue
    }
    const offset = index * (partSeconds - overlapSeconds)
    graph.filters.push(
      `[${graph.image}][part${index}]xfade=transition=${transitions[(index - 1) % transitions.length]}:duration=${overlapSeconds.toFixed(3)}:offset=${offset.toFixed(3)}[joined${index}]`,
    )
    graph.image = `joined${index}`
  }
  return graph
}
