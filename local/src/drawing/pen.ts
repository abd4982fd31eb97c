import { mix, type Colour } from './colour.ts'
import type { Palette } from './palette.ts'

/** The input of a drawing function. Drawings face left, stand on the origin and use pixels of a 720-line film. */
export interface Look {
  /** The position in the loop of its motion, from 0 to 1. */
  phase: number
  /** The colour named in the prompt, or one of the subject's default colours. */
  colour: Colour
  /** Whether it moves through the scene. */
  going: boolean
  /** The index among several of its kind. */
  index: number
  /** Its word in the prompt. */
  word: string
  palette: Palette
  /** A colour as it looks in the light of the scene. */
  lit: (colour: Colour) => Colour
  /** The width of the film, in the same pixels. */
  span: number
}

const tau = Math.PI * 2

/** A sine wave from -1 to 1 with one period per loop, or `times`. */
export function wave(phase: number, shift = 0, times = 1): number {
  return Math.sin(tau * (phase * times + shift))
}

export function darker(colour: Colour, amount: number): Colour {
  return mix(colour, '#14121c', amount)
}

export function lighter(colour: Colour, amount: number): Colour {
  return mix(colour, '#ffffff', amount)
}

const round = (value: number) => String(Math.round(value * 10) / 10)

export function ellipse(x: number, y: number, rx: number, ry: number, fill: Colour, more = ''): string {
  return `<ellipse cx="${round(x)}" cy="${round(y)}" rx="${round(rx)}" ry="${round(ry)}" fill="${fill}" ${more}/>`
}

export function circle(x: number, y: number, r: number, fill: Colour, more = ''): string {
  return ellipse(x, y, r, r, fill, more)
}

export function shape(d: string, fill: Colour, more = ''): string {
  return `<path d="${d}" fill="${fill}" ${more}/>`
}

export function line(d: string, colour: Colour, width: number, more = ''): string {
  return `<path d="${d}" fill="none" stroke="${colour}" stroke-width="${round(width)}" stroke-linecap="round" stroke-linejoin="round" ${more}/>`
}

export function box(x: number, y: number, width: number, height: number, fill: Colour, radius = 0): string {
  return `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="${radius}" fill="${fill}"/>`
}

export function group(transform: string, art: string): string {
  return `<g transform="${transform}">${art}</g>`
}

/** Rotates a drawing around a point. */
export function rotated(degrees: number, x: number, y: number, art: string): string {
  return group(`rotate(${round(degrees)} ${round(x)} ${round(y)})`, art)
}

export interface Leg {
  x: number
  y: number
  length: number
  width: number
  colour: Colour
  foot?: Colour
}

/**
 * A leg that walks to the left: for half of the loop it is on the ground and moves back, for the other half it is lifted and
 * moves forward with a bent knee. `reach` is the largest angle, 0 for a standing leg.
 */
export function leg(spec: Leg, phase: number, reach: number, footLength = spec.width * 1.3): string {
  const part = phase - Math.floor(phase)
  const angle = -reach * Math.cos(tau * part)
  const bend = part > 0.5 ? reach * 1.9 * Math.sin(tau * (part - 0.5)) : 0
  const half = spec.length / 2
  const knee = { x: spec.x + half * Math.sin(angle), y: spec.y + half * Math.cos(angle) }
  const ankle = { x: knee.x + half * Math.sin(angle + bend), y: knee.y + half * Math.cos(angle + bend) }
  const limb = line(
    `M${round(spec.x)} ${round(spec.y)}L${round(knee.x)} ${round(knee.y)}L${round(ankle.x)} ${round(ankle.y)}`,
    spec.colour,
    spec.width,
  )
  const foot = spec.foot ?? spec.colour
  const toe = { x: ankle.x - footLength * Math.cos(bend), y: ankle.y + footLength * Math.sin(bend) * 0.8 }
  return `${limb}${line(`M${round(ankle.x)} ${round(ankle.y)}L${round(toe.x)} ${round(toe.y)}`, foot, spec.width * 0.92)}`
}

/** A wheel that rolls to the left. */
export function wheel(x: number, y: number, r: number, phase: number, tyre: Colour, hub: Colour): string {
  const spokes = 5
  let art = circle(x, y, r, tyre) + circle(x, y, r * 0.66, hub)
  for (let spoke = 0; spoke < spokes; spoke++) {
    // The wheel looks the same after one fifth of a rotation, so that is one loop.
    const angle = (tau * (spoke - phase)) / spokes
    art += line(
      `M${round(x)} ${round(y)}L${round(x + Math.cos(angle) * r * 0.6)} ${round(y + Math.sin(angle) * r * 0.6)}`,
      darker(hub, 0.45),
      Math.max(1.4, r * 0.13),
    )
  }
  return art + circle(x, y, r * 0.17, darker(hub, 0.3))
}

/** The soft shadow of a subject that stands on the ground. */
export function shadow(width: number, x = 0): string {
  return ellipse(x, 0, width / 2, Math.max(3, width * 0.045), '#0a0c14', 'opacity="0.26"')
}
