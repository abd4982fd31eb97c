import sharp from 'sharp'

import type { Box } from '../drawing/film-graph.ts'
import { evenCeil, type FilmShape } from '../drawing/film-shape.ts'

const longestCaption = 160
const highestShare = 0.36

/** What of the prompt is shown: one paragraph without control characters, cut at a word where possible. */
export function captionText(prompt: string): string {
  const plain = graphemes(prompt)
    // Emoji are held together by characters that are unwanted elsewhere.
    .map((sign) => (/^\p{RGI_Emoji}$/v.test(sign) ? sign : sign.replace(unseen, ' ')))
    .join('')
    .replace(/\s+/gu, ' ')
    .trim()
  if (!visible.test(plain)) return ''
  const characters = graphemes(plain)
  if (characters.length <= longestCaption) return plain
  const cut = characters.slice(0, longestCaption - 1).join('')
  const lastSpace = cut.lastIndexOf(' ')
  return `${(lastSpace > cut.length * 0.7 ? cut.slice(0, lastSpace) : cut).trimEnd()}…`
}

/** Controls and marks of direction; not the two joiners, which some scripts are spelt with. */
const unseen = /[[\p{Cc}\p{Cf}\p{Co}\p{Cs}]--[\u200c\u200d]]+/gv

/** Joiners and selectors alone show nothing, and Pango refuses to set them. */
const visible = /[^\s\p{Join_Control}\p{Variation_Selector}]/u

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

function graphemes(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

/** Whether the caption is set smaller and takes several lines. */
function isLongCaption(text: string): boolean {
  return text.length > 90
}

export function escapeMarkup(text: string): string {
  const replacements: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
  return text.replace(/[&<>]/g, (sign) => replacements[sign] ?? sign)
}

/**
 * Sets the caption on a soft dark plate and answers where it belongs. The text goes through Pango here and reaches ffmpeg only as
 * pixels, so nothing a user writes can be taken for filter syntax.
 */
export async function paintCaption(text: string, shape: FilmShape, file: string): Promise<Box> {
  const long = isLongCaption(text)
  // Small films are watched small: their text needs more of the picture.
  const legible = Math.min(17, shape.width / 14)
  const fontSize = Math.round(Math.max(legible, (long ? 27 : 32) * shape.unit))
  const words = await sharp({
    text: {
      text: `<span foreground="white" weight="600">${escapeMarkup(text)}</span>`,
      font: 'Inter',
      width: Math.round(Math.min(shape.width * 0.82, fontSize * 34)),
      rgba: true,
      align: 'centre',
      // Pango's default size is 12 points; the resolution turns that into pixels.
      dpi: Math.max(1, Math.round((72 * fontSize) / 12)),
      wrap: 'word-char',
      spacing: Math.round(fontSize * 0.25),
    },
  })
    .png()
    .toBuffer({ resolveWithObject: true })

  const feather = fontSize * 0.55
  const paddingX = Math.round(fontSize * 1.5)
  const paddingY = Math.round(fontSize * 1.15)
  // However long it is, it leaves the greater part of the picture free.
  const room = await sharp(words.data)
    .resize({
      width: Math.max(1, Math.floor(shape.width * 0.96 - paddingX * 2)),
      height: Math.max(1, Math.floor(shape.height * highestShare - paddingY * 2)),
      fit: 'inside',
      withoutEnlargement: true,
    })
    .toBuffer({ resolveWithObject: true })
  const width = evenCeil(room.info.width + paddingX * 2)
  const height = evenCeil(room.info.height + paddingY * 2)
  const left = Math.round((width - room.info.width) / 2)
  const top = Math.round((height - room.info.height) / 2)
  const inset = feather * 1.15
  const plate = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><rect x="${inset}" y="${inset}" width="${Math.max(1, width - 2 * inset)}" height="${Math.max(1, height - 2 * inset)}" rx="${fontSize * 0.6}" fill="#05070d"/></svg>`
  const softPlate = await sharp(Buffer.from(plate))
    .blur(Math.max(0.3, feather * 0.42))
    .linear([1, 1, 1, 0.56], [0, 0, 0, 0])
    .png()
    .toBuffer()
  await sharp(softPlate)
    .composite([{ input: room.data, left, top }])
    .png()
    .toFile(file)
  return {
    ...{ width, height },
    x: Math.round((shape.width - width) / 2),
    y: Math.max(0, Math.round(shape.height * 0.93 - height)),
  }
}
