import path from 'node:path'

import sharp from 'sharp'

import type { Light } from './celestial.ts'
import { mix } from './colour.ts'
import { evenCeil, evenFloor, type FilmShape } from './film-shape.ts'
import type { FigureName } from './keywords.ts'
import { randomFrom, type Random } from './random.ts'
import type { Palette, ScenePlan } from './scene-plan.ts'
import { horizonLine } from './sky.ts'
import type { Sprite } from './sprite.ts'

interface Drawing {
  /** Drawn around the origin, in pixels of a 720-line film. */
  art: string
  box: { left: number; top: number; right: number; bottom: number }
}

interface Place {
  x: number
  y: number
  scale: number
  /** Whether it crosses the picture or stays where it is. */
  moving: boolean
  /** How far it rises and sinks, and how many frames one such turn takes. */
  sway: number
  swayFrames: number
}

/** The one thing in the scene that the prompt named, drawn small. */
export async function paintFigure(
  plan: ScenePlan,
  shape: FilmShape,
  light: Light,
  directory: string,
): Promise<Sprite | undefined> {
  if (plan.figure === undefined) return undefined
  const random = randomFrom(plan.seed, 'figure')
  const drawing = drawings[plan.figure](plan.palette, random)
  const place = placeFigure(plan.figure, plan, shape, light, random)
  const scale = place.scale * shape.unit
  const heading = plan.direction === 'left' ? -1 : 1
  const { left, top, right, bottom } = drawing.box
  const width = evenCeil((right - left) * scale)
  const height = evenCeil((bottom - top) * scale)
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="${left} ${top} ${right - left} ${bottom - top}"><g transform="${heading === 1 ? `translate(${left + right} 0) scale(-1 1)` : ''}">${drawing.art}</g></svg>`
  const fileName = 'figure.png'
  await sharp(Buffer.from(svg))
    .resize(width, height, { fit: 'fill' })
    .png()
    .toFile(path.join(directory, fileName))

  // Half of the way lies before the chosen place and half behind it, and all of it inside the picture.
  const travel = place.moving ? Math.min(shape.frameCount * Math.max(1, shape.unit), shape.width * 0.3) : 0
  const lowest = (heading === -1 ? travel : 0) + shape.width * 0.02
  const highest = shape.width * 0.98 - width - (heading === 1 ? travel : 0)
  const wanted = place.x + left * scale - (heading * travel) / 2
  const startX = evenFloor(Math.max(lowest, Math.min(highest, wanted)))
  const startY = evenFloor(place.y + top * scale)
  const sway = place.sway * shape.unit
  return {
    fileName,
    x: `${startX}+round(n*${((heading * travel) / shape.frameCount).toFixed(5)})`,
    y: `${startY}+round(${sway.toFixed(1)}*sin(n*${((2 * Math.PI) / place.swayFrames).toFixed(4)}))`,
  }
}

function placeFigure(
  name: FigureName,
  plan: ScenePlan,
  shape: FilmShape,
  light: Light,
  random: Random,
): Place {
  const { width, height } = shape
  const horizon = horizonLine(plan, shape)
  // Away from the light, so that neither hides the other.
  const side = light.x < width / 2 ? random.between(0.64, 0.76) : random.between(0.24, 0.36)
  const x = width * side
  switch (name) {
    case 'whale':
      return {
        x,
        y: horizon + (height - horizon) * 0.27,
        scale: 1.05,
        moving: false,
        sway: 4,
        swayFrames: 110,
      }
    case 'boat':
      return {
        x,
        y: horizon + (height - horizon) * 0.1,
        scale: 0.9,
        moving: false,
        sway: 1.6,
        swayFrames: 70,
      }
    case 'astronaut':
      return { x: width * 0.3, y: height * 0.52, scale: 1.15, moving: false, sway: 9, swayFrames: 170 }
    case 'dragon':
      return { x, y: height * random.between(0.32, 0.4), scale: 1.15, moving: true, sway: 10, swayFrames: 80 }
    case 'balloon':
      return { x, y: height * random.between(0.3, 0.38), scale: 1, moving: false, sway: 8, swayFrames: 200 }
    case 'birds':
      return { x, y: height * random.between(0.24, 0.36), scale: 1, moving: true, sway: 5, swayFrames: 60 }
  }
}

const drawings: Record<FigureName, (palette: Palette, random: Random) => Drawing> = {
  whale(palette) {
    const body = mix(palette.near, palette.sky, 0.12)
    const foam = mix(palette.light, palette.horizon, 0.4)
    const art = `<g fill="${body}"><path d="M-200 0C-198 -20 -176 -36 -140 -38C-96 -40 -52 -26 -22 0Z"/><path d="M-86 -31C-80 -38 -74 -41 -67 -41C-70 -36 -68 -30 -62 -24Z"/><path d="M30 0C33 -18 36 -34 38 -47C22 -52 -8 -60 -26 -88C-8 -87 24 -88 42 -68C60 -88 92 -87 110 -88C92 -60 62 -52 46 -47C48 -34 51 -18 54 0Z"/></g>
<path d="M-190 -18C-176 -34 -140 -38 -96 -32" fill="none" stroke="${foam}" stroke-width="2" stroke-opacity="0.5" stroke-linecap="round"/>
<g fill="none" stroke="${foam}" stroke-linecap="round"><path d="M-158 -40C-160 -58 -168 -70 -182 -74M-156 -40C-154 -60 -148 -74 -134 -80M-157 -42V-84" stroke-width="3" stroke-opacity="0.35"/><path d="M-208 1H-24M20 1H66" stroke-width="3.5" stroke-opacity="0.55"/><path d="M-190 8H-50M26 8H58" stroke-width="2.2" stroke-opacity="0.3"/></g>`
    return { art, box: { left: -216, top: -96, right: 116, bottom: 14 } }
  },

  boat(palette) {
    const hull = mix(palette.near, '#000000', 0.15)
    const sail = mix(palette.light, palette.horizon, 0.28)
    const art = `<path d="M-46 -4Q-40 14 -26 14H28Q42 12 50 -8Z" fill="${hull}"/><path d="M0 -4V-98" stroke="${hull}" stroke-width="3"/><path d="M4 -96Q46 -46 42 -12H4Z" fill="${sail}"/><path d="M-4 -86Q-24 -44 -40 -12H-4Z" fill="${mix(sail, palette.far, 0.3)}"/><path d="M-40 16Q0 22 44 16L30 54Q2 70 -22 52Z" fill="${hull}" opacity="0.22"/>`
    return { art, box: { left: -52, top: -100, right: 54, bottom: 66 } }
  },

  astronaut(palette) {
    const suit = '#eef2fa'
    const shade = mix('#9aa6c4', palette.sky, 0.25)
    const art = `<defs><linearGradient id="visor" x1="0" y1="0" x2="1" y2="1"><stop offset="0" stop-color="#ffd9a0"/><stop offset="0.35" stop-color="#31507f"/><stop offset="1" stop-color="#0a1226"/></linearGradient><linearGradient id="suit" x1="0" y1="0" x2="1" y2="0.6"><stop offset="0" stop-color="#ffffff"/><stop offset="0.55" stop-color="${suit}"/><stop offset="1" stop-color="${shade}"/></linearGradient></defs>
<path d="M20 10C70 40 96 6 132 34" fill="none" stroke="${shade}" stroke-width="2.4"/>
<g transform="rotate(-16)"><rect x="-27" y="-32" width="56" height="58" rx="13" fill="${shade}"/>
<g fill="none" stroke-linecap="round"><path d="M-10 20Q-17 44 -30 58M10 20Q22 40 19 62" stroke="${mix(suit, shade, 0.35)}" stroke-width="18"/><path d="M-17 -14Q-42 -8 -52 12M17 -14Q42 -20 54 -40" stroke="${mix(suit, shade, 0.15)}" stroke-width="14"/><path d="M-32 60L-36 62M19 64V68" stroke="#6d7896" stroke-width="18"/><path d="M-53 14L-54 17M55 -42L56 -45" stroke="#6d7896" stroke-width="13"/></g>
<rect x="-21" y="-28" width="42" height="54" rx="15" fill="url(#suit)"/><rect x="-11" y="-6" width="22" height="14" rx="3" fill="${shade}"/><circle cx="-5" cy="1" r="2.4" fill="#ff7a6b"/><circle cx="4" cy="1" r="2.4" fill="#7be0b0"/>
<circle cy="-46" r="25" fill="url(#suit)"/><ellipse cx="-3" cy="-45" rx="17" ry="15" fill="url(#visor)"/><path d="M-14 -52Q-9 -58 -2 -57" fill="none" stroke="#ffffff" stroke-opacity="0.8" stroke-width="2.6" stroke-linecap="round"/></g>`
    return { art, box: { left: -78, top: -84, right: 136, bottom: 86 } }
  },

  dragon(palette) {
    const body = mix(palette.near, palette.far, 0.1)
    const wing = mix(palette.near, palette.far, 0.3)
    const art = `<path d="M-36 -8C-44 -38 -62 -66 -98 -84C-90 -72 -87 -62 -88 -52C-78 -51 -69 -44 -65 -34C-56 -33 -49 -24 -45 -8Z" fill="${wing}"/>
<path d="M-112 -9L-100 -17L-92 -21L-80 -34L-84 -19C-72 -15 -58 -5 -40 -9C-20 -15 2 -14 24 -5C54 8 80 12 108 -2L128 -18L124 -2L136 6L110 7C82 24 46 25 16 15C8 26 -2 28 -8 26C-3 22 -2 17 -3 12C-18 11 -30 12 -42 9C-60 9 -72 0 -86 -4L-102 -2L-96 -7Z" fill="${body}"/>
<path d="M-32 -8C-34 -44 -16 -84 28 -110C23 -96 25 -84 33 -74C43 -66 56 -61 72 -60C59 -50 54 -41 54 -30C42 -30 32 -20 28 -4Z" fill="${mix(body, wing, 0.3)}"/>
<path d="M-30 -10C-24 -44 -6 -80 26 -106M-24 -10C-8 -38 12 -62 32 -74M-14 -8C8 -24 30 -34 54 -32" fill="none" stroke="${palette.mist}" stroke-opacity="0.22" stroke-width="1.6"/>`
    return { art, box: { left: -116, top: -114, right: 140, bottom: 32 } }
  },

  balloon(palette, random) {
    const stripe = random.pick(['#e4572e', '#f2a541', '#3aa7a3', '#d1495b'])
    const cloth = mix(palette.light, '#ffffff', 0.4)
    const basket = mix(palette.near, '#6b4226', 0.5)
    const art = `<defs><radialGradient id="round" cx="0.35" cy="0.3" r="0.8"><stop offset="0.3" stop-color="#000" stop-opacity="0"/><stop offset="1" stop-color="#000" stop-opacity="0.42"/></radialGradient><clipPath id="cloth"><path id="envelope" d="M0 62C-16 46 -56 24 -56 -18C-56 -50 -30 -74 0 -74C30 -74 56 -50 56 -18C56 24 16 46 0 62Z"/></clipPath></defs><path d="M-12 56L-9 80M12 56L9 80" stroke="${basket}" stroke-width="1.6"/><g clip-path="url(#cloth)"><rect x="-60" y="-80" width="120" height="150" fill="${cloth}"/><g fill="${stripe}"><ellipse rx="15" ry="82" cy="-8"/><path d="M-60 -80H-34C-50 -40 -46 20 -8 64H-60ZM60 -80H34C50 -40 46 20 8 64H60Z"/></g><rect x="-60" y="-80" width="120" height="150" fill="url(#round)"/></g><rect x="-10" y="80" width="20" height="15" rx="3" fill="${basket}"/>`
    return { art, box: { left: -60, top: -78, right: 60, bottom: 98 } }
  },

  birds(palette, random) {
    const colour = mix(palette.near, palette.sky, 0.2)
    let art = ''
    for (let index = 0; index < 7; index++) {
      const rank = Math.ceil(index / 2) * (index % 2 === 0 ? 1 : -1)
      const x = Math.abs(rank) * 34 + random.between(-7, 7)
      const y = rank * 17 + random.between(-6, 6)
      const size = random.between(0.75, 1.1)
      const lift = random.between(-6, 5)
      art += `<path transform="translate(${x.toFixed(1)} ${y.toFixed(1)}) scale(${size.toFixed(2)})" d="M-17 ${lift - 4}Q-8 ${lift - 9} 0 0Q8 ${lift - 9} 17 ${lift - 4}Q8 ${lift - 5} 0 4Q-8 ${lift - 5} -17 ${lift - 4}Z" fill="${colour}"/>`
    }
    return { art, box: { left: -30, top: -80, right: 140, bottom: 80 } }
  },
}
