import sharp from 'sharp'

import type { Box } from '../drawing/film-graph.ts'
import { evenCeil, type FilmShape } from '../drawing/film-shape.ts'

const captionLengthMax = 160
/** The largest height of a caption, as a share of the film's height. */
const captionHeightMax = 0.36

/** The prompt as one paragraph without control characters, truncated between words where possible. */
export function captionText(prompt: string): string {
  const plain = graphemes(prompt)
    // Emoji sequences contain format characters that are removed elsewhere.
    .map((sign) => (/^\p{RGI_Emoji}$/v.test(sign) ? sign : sign.replace(invisible, ' ')))
    .join('')
    .replace(/\s+/gu, ' ')
    .trim()
  if (!visible.test(plain)) return ''
  const characters = graphemes(plain)
  if (characters.length <= captionLengthMax) return plain
  const cut = characters.slice(0, captionLengthMax - 1).join('')
  const lastSpace = cut.lastIndexOf(' ')
  return `${(lastSpace > cut.length * 0.7 ? cut.slice(0, lastSpace) : cut).trimEnd()}…`
}

/** Control and direction characters, but not the two joiners, which some scripts need. */
const invisible = /[[\p{Cc}\p{Cf}\p{Co}\p{Cs}]--[\u200c\u200d]]+/gv

/** Pango rejects text that has only joiners and selectors. */
const visible = /[^\s\p{Join_Control}\p{Variation_Selector}]/u

const segmenter = new Intl.Segmenter('en', { granularity: 'grapheme' })

function graphemes(text: string): string[] {
  return Array.from(segmenter.segment(text), ({ segment }) => segment)
}

/** Whether the caption gets a smaller font and several lines. */
function isLongCaption(text: string): boolean {
  return text.length > 90
}

export function escapeMarkup(text: string): string {
  const replacements: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' }
  return text.replace(/[&<>]/g, (sign) => replacements[sign] ?? sign)
}

/**
 * Paints the caption on a soft dark plate and returns its box in the film. Pango renders the text, and ffmpeg receives only
 * pixels, so a prompt cannot inject filter syntax.
 */
export async function paintCaption(text: string, shape: FilmShape, file: string): Promise<Box> {
  const long = isLongCaption(text)
  // Small films need relatively larger text.
  const minFontSize = Math.min(17, shape.width / 14)
  const fontSize = Math.round(Math.max(minFontSize, (long ? 27 : 32) * shape.unit))
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
  // A long caption is scaled down, so that it leaves most of the frame free.
  const fitted = await sharp(words.data)
    .resize({
      width: Math.max(1, Math.floor(shape.width * 0.96 - paddingX * 2)),
      height: Math.max(1, Math.floor(shape.height * captionHeightMax - paddingY * 2)),
      fit: 'inside',
      withoutEnlargement: true,
    })
    .toBuffer({ resolveWithObject: true })
  const width = evenCeil(fitted.info.width + paddingX * 2)
  const height = evenCeil(fitted.info.height + paddingY * 2)
  const left = Math.round((width - fitted.info.width) / 2)
  const top = Math.round((height - fitted.info.height) / 2)
  const inset = feather * 1.15
  const plate = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><rect x="${inset}" y="${inset}" width="${Math.max(1, width - 2 * inset)}" height="${Math.max(1, height - 2 * inset)}" rx="${fontSize * 0.6}" fill="#05070d"/></svg>`
  const softPlate = await sharp(Buffer.from(plate))
    .blur(Math.max(0.3, feather * 0.42))
    .linear([1, 1, 1, 0.56], [0, 0, 0, 0])
    .png()
    .toBuffer()
  await sharp(softPlate)
    .composite([{ input: fitted.data, left, top }])
    .png()
    .toFile(file)
  return {
    ...{ width, height },
    x: Math.round((shape.width - width) / 2),
    y: Math.max(0, Math.round(shape.height * 0.93 - height)),
  }
}
