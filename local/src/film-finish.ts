import path from 'node:path'

import { captionText, paintCaption } from './caption.ts'
import { addStill, overlay, type FilmGraph } from './film-graph.ts'
import type { FilmShape } from './film-shape.ts'
import { paintOverlay, watermarkBox } from './overlay.ts'

export interface Finish {
  shape: FilmShape
  text: string
  watermark: boolean
  directory: string
  /** Ends at which the film must show its picture untouched: no vignette, and no fade there. */
  exactStart: boolean
  exactEnd: boolean
}

/** What every film gets on top: caption, vignette, watermark, and a fade at both ends. */
export async function finishFilm(graph: FilmGraph, film: Finish): Promise<void> {
  const { shape, directory } = film
  const { seconds } = shape
  const text = captionText(film.text)
  const [caption] = await Promise.all([
    text === '' ? undefined : paintCaption(text, shape, path.join(directory, 'caption.png')),
    paintOverlay(
      shape,
      { watermark: film.watermark, vignette: !film.exactStart && !film.exactEnd },
      path.join(directory, 'overlay.png'),
    ),
  ])
  overlay(graph, addStill(graph, 'overlay.png', 'yuva420p'), 'x=0:y=0')
  if (film.watermark) graph.texts.push(watermarkBox(shape))
  if (caption !== undefined) {
    const label = addStill(graph, 'caption.png', 'yuva420p')
    const appear = Math.min(0.5, seconds * 0.1)
    const fade = Math.min(0.6, seconds * 0.12)
    const vanish = seconds - Math.min(1.5, seconds * 0.25)
    graph.filters.push(
      `[${label}]fade=t=in:st=${appear.toFixed(3)}:d=${fade.toFixed(3)}:alpha=1,fade=t=out:st=${vanish.toFixed(3)}:d=${fade.toFixed(3)}:alpha=1[caption]`,
    )
    const x = Math.round((shape.width - caption.width) / 2)
    const y = Math.max(0, Math.round(shape.height * 0.93 - caption.height))
    graph.texts.push({ x, y, ...caption })
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
  graph.filters.push(`[${graph.picture}]${last.join(',')}[film]`)
  graph.picture = 'film'
}
