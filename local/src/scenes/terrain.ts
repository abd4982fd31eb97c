import type { FilmShape } from '../drawing/film-shape.ts'
import { evenCeil, evenFloor } from '../drawing/film-shape.ts'
import { periodicNoise } from '../drawing/noise.ts'
import type { Random } from '../drawing/random.ts'
import type { ScenePlan } from './scene-plan.ts'

/** A band of scenery, wider than the frame, that moves and repeats after `period` pixels. */
export interface Strip {
  width: number
  period: number
  frameHeight: number
  unit: number
  /** In whole pixels per frame, because fractions judder; 0 for still layers. */
  speed: number
}

export interface Layer {
  svg: string
  width: number
  height: number
  top: number
  speed: number
  period: number
}

/** The speeds of the four layers, farthest first. */
export function layerSpeeds({ camera, track }: Pick<ScenePlan, 'camera' | 'track'>): readonly number[] {
  if (camera === 'still') return [0, 0, 0, 0]
  return [1, 2, 3, track === undefined ? 5 : 8]
}

export function stripFor(shape: FilmShape, baseSpeed: number): Strip {
  const speed = baseSpeed === 0 ? 0 : Math.max(1, Math.round(baseSpeed * shape.unit))
  const travel = speed * shape.frameCount
  // Limits the length of the strip; after two widths the scenery repeats.
  const period = Math.max(shape.width, Math.min(travel, shape.width * 2))
  return {
    width: evenCeil(shape.width + Math.min(travel, period)),
    period,
    frameHeight: shape.height,
    unit: shape.unit,
    speed,
  }
}

/** The layer starts at `top`, because blending its empty part would cost time too. */
export function layerOf(strip: Strip, top: number, bottom: number, body: string): Layer {
  const from = Math.max(0, evenFloor(top))
  const to = Math.min(strip.frameHeight, evenCeil(bottom))
  const height = Math.max(2, to - from)
  return {
    svg: `<svg xmlns="http://www.w3.org/2000/svg" width="${strip.width}" height="${height}" viewBox="0 ${from} ${strip.width} ${height}">${body}</svg>`,
    width: strip.width,
    height,
    top: from,
    speed: strip.speed,
    period: strip.period,
  }
}

export interface Profile {
  xs: number[]
  ys: number[]
  highest: number
}

/** Samples a height curve along the strip. */
export function traceProfile(strip: Strip, step: number, heightAt: (x: number) => number): Profile {
  const xs: number[] = []
  const ys: number[] = []
  let highest = Number.POSITIVE_INFINITY
  for (let x = 0; x < strip.width + step; x += step) {
    const y = heightAt(x)
    xs.push(x)
    ys.push(y)
    highest = Math.min(highest, y)
  }
  return { xs, ys, highest }
}

export function lineOf(profile: Profile): string {
  let line = ''
  for (let index = 0; index < profile.xs.length; index++) {
    line += `${index === 0 ? 'M' : 'L'}${profile.xs[index]!.toFixed(1)} ${profile.ys[index]!.toFixed(1)}`
  }
  return line
}

export function areaBelow(profile: Profile, bottom: number): string {
  return `${lineOf(profile)}V${bottom}H0Z`
}

/** The area between two profiles sampled at the same positions. */
export function areaBetween(upper: Profile, lower: Profile): string {
  let path = lineOf(upper)
  for (let index = lower.xs.length - 1; index >= 0; index--) {
    path += `L${lower.xs[index]!.toFixed(1)} ${lower.ys[index]!.toFixed(1)}`
  }
  return `${path}Z`
}

export interface RoughnessOptions {
  /** Width of the largest feature in pixels. */
  featurePx: number
  octaves: number
  /** Sharp crests instead of round ones. */
  sharp?: boolean
}

/** A height curve in about [-1, 1] that repeats with the strip. */
export function roughness(random: Random, strip: Strip, options: RoughnessOptions): (x: number) => number {
  const cells = Math.max(3, Math.round(strip.period / options.featurePx))
  const layers = Array.from({ length: options.octaves }, (_, octave) => ({
    noise: periodicNoise(random, cells * 2 ** octave),
    frequency: (cells * 2 ** octave) / strip.period,
    weight: 0.48 ** octave,
  }))
  const total = layers.reduce((sum, layer) => sum + layer.weight, 0)
  return (x) => {
    let height = 0
    for (const layer of layers) {
      const value = layer.noise(x * layer.frequency)
      height += layer.weight * (options.sharp ? 1 - 2.1 * Math.abs(value) : value)
    }
    return height / total
  }
}

/** Calls `draw` for every repetition of a position along the strip. */
export function repeatAlong(strip: Strip, x: number, reach: number, draw: (x: number) => void): void {
  for (let at = x - strip.period; at < strip.width + reach; at += strip.period) {
    if (at > -reach) draw(at)
  }
}

export function verticalGradient(
  id: string,
  top: number,
  bottom: number,
  stops: [number, string, number?][],
): string {
  const marks = stops
    .map(
      ([offset, colour, opacity = 1]) =>
        `<stop offset="${offset}" stop-color="${colour}" stop-opacity="${opacity}"/>`,
    )
    .join('')
  return `<linearGradient id="${id}" x1="0" y1="${top}" x2="0" y2="${bottom}" gradientUnits="userSpaceOnUse">${marks}</linearGradient>`
}
