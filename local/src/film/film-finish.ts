import path from 'node:path'

import { addStill, overlay, type Box, type FilmGraph } from '../drawing/film-graph.ts'
import type { FilmShape } from '../drawing/film-shape.ts'
import { paintOverlay, watermarkBox } from './overlay.ts'

export const captionFileName = 'caption.png'

export interface Finish {
  shape: FilmShape
  /** The box of the caption, which has already been painted. */
  caption: Box | undefined
  watermark: boolean
  vignette: boolean
  directory: string
  /** Whether the first or last frame must show its image unchanged, without fade. */
  exactStart: boolean
  exactEnd: boolean
}

/** Adds caption, vignette, watermark, and a fade at both ends. */
export async function finishFilm(graph: FilmGraph, film: Finish): Promise<void> {
  const { shape, directory, caption } = film
  const { seconds } = shape
  await paintOverlay(
    shape,
    { watermark: film.watermark, vignette: film.vignette },
    path.join(directory, 'overlay.png'),
  )
  overlay(graph, addStill(graph, 'overlay.png', 'yuva420p'), 'x=0:y=0')
  if (film.watermark) graph.texts.push(watermarkBox(shape))
  if (caption !== undefined) {
    const label = addStill(graph, captionFileName, 'yuva420p')
    const appear = Math.min(0.5, seconds * 0.1)
    const fade = Math.min(0.6, seconds * 0.12)
    const vanish = seconds - Math.min(1.5, seconds * 0.25)
    graph.filters.push(
      `[${label}]fade=t=in:st=${appear.toFixed(3)}:d=${fade.toFixed(3)}:alpha=1,fade=t=out:st=${vanish.toFixed(3)}:d=${fade.toFixed(3)}:alpha=1[caption]`,
    )
    const { x, y } = caption
    graph.texts.push(caption)
    overlay(
      graph,
      'caption',
      `x=${x}:y=${y}:enable='between(t,${appear.toFixed(3)},${(vanish + fade).toFixed(3)})'`,
    )
  }
  const fadeIn = Math.min(0.5, seconds * 0.15)
  const fadeOut = Math.min(0.7, seconds * 0.15)
  const fades = [
    ...(film.exactStart ? [] : [`fade=t=in:st=0:d=${fadeIn.toFixed(3)}`]),
    ...(film.exactEnd ? [] : [`fade=t=out:st=${(seconds - fadeOut).toFixed(3)}:d=${fadeOut.toFixed(3)}`]),
  ]
  const last = [...fades, 'setsar=1', `trim=end_frame=${shape.frameCount}`]
  graph.filters.push(`[${graph.image}]${last.join(',')}[film]`)
  graph.image = 'film'
}
