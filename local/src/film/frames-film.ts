import path from 'node:path'

import sharp from 'sharp'

import { addInput, addMask, emptyGraph, type FilmGraph } from '../drawing/film-graph.ts'
import { evenCeil, framesPerSecond, type FilmShape } from '../drawing/film-shape.ts'
import { planeNoise, smoothstep } from '../drawing/noise.ts'
import { randomFrom } from '../drawing/random.ts'
import type { ScenePlan } from '../scenes/scene-plan.ts'
import { cropReference } from './image.ts'

/** The zoom factor between one image and the next. */
const push = 1.14
/** The dissolve mask is smaller than the film by this factor; ffmpeg enlarges it. */
const reduction = 16

/**
 * Moves from the first image to the last over the whole film. The first frame is exactly the first image, and the last frame
 * exactly the last image. In between the camera zooms in, and each image dissolves into the next, with a delay that varies
 * over the frame.
 */
export async function filmFrames(
  plan: ScenePlan,
  shape: FilmShape,
  references: string[],
  directory: string,
): Promise<FilmGraph> {
  const graph = emptyGraph()
  // The zoom moves in whole pixels of its source, so a larger source makes it smoother.
  const oversize = Math.max(1.25, Math.min(2, 3000 / Math.max(shape.width, shape.height)))
  const size = { width: evenCeil(shape.width * oversize), height: evenCeil(shape.height * oversize) }
  const margin = {
    x: Math.round((size.width * (push - 1)) / 2),
    y: Math.round((size.height * (push - 1)) / 2),
  }
  const count = references.length
  const last = Math.max(1, shape.frameCount - 1)
  const legs = Math.max(1, count - 1)

  for (const [index, reference] of references.entries()) {
    const fileName = `frame-${index}.png`
    const cropped = path.join(directory, `cropped-${index}.png`)
    await cropReference(reference, size, cropped)
    // The zoom is below 1 when the image appears, so the image needs a margin.
    await sharp(cropped)
      .extend({ left: margin.x, right: margin.x, top: margin.y, bottom: margin.y, extendWith: 'mirror' })
      .png({ compressionLevel: 1 })
      .toFile(path.join(directory, fileName))
    // `progress` is 0 when this image is shown exactly, and -1 and 1 one leg before and after that.
    const progress = `max(-1,min(1,on*${(legs / last).toFixed(8)}-${index}))`
    const zoom = `${(1 + (2 * margin.x) / size.width).toFixed(6)}*pow(${push},${progress})`
    const input = addInput(graph, '-i', fileName)
    const label = `frame${index}`
    graph.filters.push(
      `[${input}:v]scale=out_color_matrix=bt709:out_range=tv,format=yuv420p,zoompan=z='max(1,${zoom})':x='(iw-iw/zoom)/2':y='(ih-ih/zoom)/2':d=${shape.frameCount + 1}:s=${shape.width}x${shape.height}:fps=${framesPerSecond},setsar=1[${label}]`,
    )
    if (index === 0) graph.image = label
    else dissolve(graph, plan, shape, { index, legs, label })
  }
  return graph
}

function dissolve(
  graph: FilmGraph,
  plan: ScenePlan,
  shape: FilmShape,
  leg: { index: number; legs: number; label: string },
): void {
  const noise = planeNoise(randomFrom(plan.seed, `dissolve ${leg.index}`))
  const width = Math.max(8, Math.round(shape.width / reduction))
  const height = Math.max(8, Math.round(shape.height / reduction))
  const delays = Float32Array.from({ length: width * height }, (_, at) => {
    const x = ((at % width) / width) * 3 * Math.max(1, shape.width / shape.height)
    const y = (Math.floor(at / width) / height) * 3 * Math.max(1, shape.height / shape.width)
    return 0.65 * noise(x, y) + 0.35 * noise(x * 2.1 + 40, y * 2.1 + 40)
  })
  const bytes = Buffer.alloc(width * height)
  const last = Math.max(1, shape.frameCount - 1)
  addMask(graph, leg.label, shape, {
    width,
    height,
    framesPerSecond,
    frameCount: shape.frameCount + 1,
    paint(seconds) {
      const progress = (Math.round(seconds * framesPerSecond) / last) * leg.legs - (leg.index - 1)
      // A short pause on both images, and a wide ramp so that the mask has no hard edges.
      const moved = Math.min(1, Math.max(0, (progress - 0.06) / 0.88)) * 1.3
      for (let at = 0; at < bytes.length; at++) {
        bytes[at] = 255 * smoothstep(delays[at]! * 0.3, delays[at]! * 0.3 + 1, moved)
      }
      return bytes
    },
  })
}
