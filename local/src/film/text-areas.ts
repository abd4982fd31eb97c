import type { Box } from '../drawing/film-graph.ts'
import type { FilmShape } from '../drawing/film-shape.ts'
import type { Band } from './character-layout.ts'
import { watermarkBox } from './overlay.ts'

/** The rows for characters, between the watermark or the elements above and the caption below. */
export function characterBand(
  shape: FilmShape,
  shown: { caption: Box | undefined; watermark: boolean; hasElements: boolean },
): Band {
  const gap = shape.height * 0.015
  const mark = watermarkBox(shape)
  const bottom = (shown.caption?.y ?? shape.height * 0.95) - gap
  const upper = shown.watermark ? mark.y + mark.height : shape.height * 0.03
  // Elements get the upper part of the frame, as far as the names below them stay legible.
  const top = shown.hasElements ? Math.min(shape.height * 0.54, bottom - shape.height * 0.3) : upper + gap
  return { top: Math.max(upper + gap, top), bottom }
}
