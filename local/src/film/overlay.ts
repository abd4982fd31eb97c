import sharp from 'sharp'

import type { Box } from '../drawing/film-graph.ts'
import type { FilmShape } from '../drawing/film-shape.ts'

/** Paints vignette and watermark into one image, which needs one blend per frame instead of a costly filter and a blend. */
export async function paintOverlay(
  shape: FilmShape,
  shown: { vignette: boolean; watermark: boolean },
  file: string,
): Promise<void> {
  const { width, height } = shape
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><defs><radialGradient id="vignette" cx="0.5" cy="0.48" r="0.74"><stop offset="0.55" stop-color="#000" stop-opacity="0"/><stop offset="0.8" stop-color="#000" stop-opacity="0.17"/><stop offset="1" stop-color="#000" stop-opacity="0.46"/></radialGradient></defs>${shown.vignette ? `<rect width="${width}" height="${height}" fill="url(#vignette)"/>` : ''}${shown.watermark ? mark(shape) : ''}</svg>`
  await sharp(Buffer.from(svg)).png({ compressionLevel: 1 }).toFile(file)
}

function markSize(shape: FilmShape): number {
  return Math.max(Math.min(11, shape.width / 20), 17 * shape.unit)
}

export function watermarkBox(shape: FilmShape): Box {
  const size = markSize(shape)
  const width = size * 8.6
  return { x: shape.width - size * 0.9 - width, y: size * 0.9, width, height: size * 2 }
}

function mark(shape: FilmShape): string {
  const size = markSize(shape)
  const right = shape.width - size * 1.4
  const middle = size * 1.9
  const textWidth = size * 6.05
  const ring = right - textWidth - size * 0.85
  const radius = size * 0.52
  const text = (colour: string) =>
    `<text x="${right}" y="${middle + size * 0.36}" text-anchor="end" font-family="Inter, sans-serif" font-weight="600" font-size="${size}" fill="${colour}">Kinora local</text>`
  const { x, y, width, height } = watermarkBox(shape)
  // The plate makes the text legible on snow, sand and bright walls.
  return `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="${height / 2}" fill="#05070d" fill-opacity="0.62"/><g opacity="0.94">${text('#fff')}<circle cx="${ring}" cy="${middle}" r="${radius}" fill="none" stroke="#fff" stroke-width="${size * 0.11}"/><path d="M${ring - radius * 0.3} ${middle - radius * 0.48}L${ring + radius * 0.52} ${middle}L${ring - radius * 0.3} ${middle + radius * 0.48}Z" fill="#fff"/></g>`
}
