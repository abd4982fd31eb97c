import path from 'node:path'

import sharp from 'sharp'

import { mix } from '../drawing/colour.ts'
import type { FilmGraph } from '../drawing/film-graph.ts'
import { evenCeil, framesPerSecond, type FilmShape } from '../drawing/film-shape.ts'
import { randomFrom } from '../drawing/random.ts'
import type { ScenePlan } from '../scenes/scene-plan.ts'
import { addSprite, swaying, type Sprite } from '../scenes/sprite.ts'
import { captionText, escapeMarkup } from './caption.ts'
import {
  glowShare,
  layoutCharacters,
  ringShare,
  type Band,
  type CharacterLayout,
} from './character-layout.ts'

export interface Character {
  /** The path of the decoded image. */
  image: string
  userName: string
}

export async function addCharacters(
  graph: FilmGraph,
  film: { plan: ScenePlan; shape: FilmShape; directory: string; characters: Character[]; band: Band },
): Promise<void> {
  const { plan, shape, characters, band } = film
  if (characters.length === 0) return
  const layout = layoutCharacters(characters.length, shape, band, plan.direction === 'left' ? 1 : -1)
  const { drift, sway } = layout
  const sprites = await Promise.all(
    characters.map(async (character, index): Promise<Sprite> => {
      const fileName = `character-${index}.png`
      const size = await paintCharacter(character, plan, layout, path.join(film.directory, fileName))
      const { centreX, centreY } = layout.places[index]!
      const random = randomFrom(plan.seed, `character ${index}`)
      const swayFrames = framesPerSecond * random.between(3, 4.4)
      return {
        fileName,
        x: swaying({
          start: centreX - size.width / 2 - drift / 2,
          travel: drift,
          frameCount: shape.frameCount,
          sway: sway.x,
          swayFrames: swayFrames * 1.7,
          phase: random.between(0, 6),
        }),
        y: swaying({
          start: centreY - layout.height / 2,
          travel: 0,
          frameCount: shape.frameCount,
          sway: sway.y,
          swayFrames,
          phase: index * 1.9,
        }),
      }
    }),
  )
  const fadeSeconds = Math.min(0.6, shape.seconds * 0.15)
  for (const sprite of sprites) addSprite(graph, sprite, { seconds: shape.seconds, fadeSeconds })
}

/** Paints a round portrait with a bright ring and a soft glow, and the name on a plate below it. */
async function paintCharacter(
  character: Character,
  plan: ScenePlan,
  layout: CharacterLayout,
  file: string,
): Promise<{ width: number; height: number }> {
  const { diameter } = layout
  const { palette } = plan
  const glow = diameter * glowShare
  const round = Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" width="${diameter}" height="${diameter}"><circle cx="${diameter / 2}" cy="${diameter / 2}" r="${diameter / 2}"/></svg>`,
  )
  // Two pipelines, because sharp applies the mask before flattening if one pipeline has both.
  const face = await sharp(character.image)
    .resize(diameter, diameter, { fit: 'cover', position: 'attention' })
    .flatten({ background: mix(palette.sky, palette.horizon, 0.5) })
    .png()
    .toBuffer()
  const portrait = await sharp(face)
    .ensureAlpha()
    .composite([{ input: round, blend: 'dest-in' }])
    .png()
    .toBuffer()
  const name = await paintName(character.userName, layout.name)
  const width = evenCeil(Math.max(diameter + 2 * glow, name.width))
  const { height } = layout
  const centre = { x: width / 2, y: glow + diameter / 2 }
  const ring = diameter * ringShare
  const halo = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><defs><radialGradient id="glow"><stop offset="0.72" stop-color="${palette.light}" stop-opacity="0.6"/><stop offset="0.86" stop-color="${palette.light}" stop-opacity="0.2"/><stop offset="1" stop-color="${palette.light}" stop-opacity="0"/></radialGradient><linearGradient id="ring" x1="0" y1="0" x2="1" y2="1"><stop offset="0" stop-color="#ffffff"/><stop offset="0.55" stop-color="${mix('#ffffff', palette.light, 0.5)}"/><stop offset="1" stop-color="${mix(palette.light, palette.horizon, 0.7)}"/></linearGradient></defs><circle cx="${centre.x}" cy="${centre.y}" r="${diameter / 2 + glow}" fill="url(#glow)"/><circle cx="${centre.x}" cy="${centre.y}" r="${diameter / 2 + ring * 0.55}" fill="url(#ring)"/></svg>`
  // Shading from above gives the portrait volume; without it, it looks like a hole.
  const volume = `<svg xmlns="http://www.w3.org/2000/svg" width="${diameter}" height="${diameter}"><defs><radialGradient id="shade" cx="0.5" cy="0.42" r="0.6"><stop offset="0.72" stop-color="#000" stop-opacity="0"/><stop offset="1" stop-color="#000" stop-opacity="0.34"/></radialGradient></defs><circle cx="${diameter / 2}" cy="${diameter / 2}" r="${diameter / 2 - ring * 0.4}" fill="url(#shade)"/></svg>`
  const place = { left: Math.round(centre.x - diameter / 2), top: Math.round(glow) }
  await sharp(Buffer.from(halo))
    .composite([
      { input: portrait, ...place },
      { input: Buffer.from(volume), ...place },
      {
        input: name.data,
        left: Math.round((width - name.width) / 2),
        top: Math.min(height - name.height, Math.round(glow + diameter + ring)),
      },
    ])
    .png()
    .toFile(file)
  return { width, height }
}

/** Paints a name on a dark plate, at most as large as the layout allows. */
export async function paintName(
  userName: string,
  size: CharacterLayout['name'],
): Promise<{ data: Buffer; width: number; height: number }> {
  const { fontSize } = size
  const plain = captionText(userName).replace(/^@+/u, '')
  const words = await sharp({
    text: {
      text: `<span foreground="white" weight="600">${escapeMarkup(`@${plain}`)}</span>`,
      font: 'Inter',
      rgba: true,
      dpi: Math.max(1, Math.round((72 * fontSize) / 12)),
    },
  })
    .png()
    .toBuffer({ resolveWithObject: true })
  const paddingX = fontSize * 0.75
  const paddingY = fontSize * 0.42
  // Long names are scaled down instead of truncated, because a truncated name is a different name.
  const widthMax = Math.max(1, Math.floor(size.widthMax - 2 * paddingX - 2))
  const heightMax = Math.max(1, Math.floor(size.height - 2 * paddingY))
  const text = await sharp(words.data)
    .resize({ width: widthMax, height: heightMax, fit: 'inside', withoutEnlargement: true })
    .png()
    .toBuffer({ resolveWithObject: true })
  const width = evenCeil(text.info.width + 2 * paddingX)
  const { height } = size
  const plate = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><rect width="${width}" height="${height}" rx="${height / 2}" fill="#05070d" fill-opacity="0.66"/></svg>`
  const data = await sharp(Buffer.from(plate))
    .composite([
      {
        input: text.data,
        left: Math.round((width - text.info.width) / 2),
        top: Math.round((height - text.info.height) / 2),
      },
    ])
    .png()
    .toBuffer()
  return { data, width, height }
}
