import { mix, type Colour } from '../drawing/colour.ts'
import { addSource, overlay, type FilmGraph, type FrameSource } from '../drawing/film-graph.ts'
import { framesPerSecond, type FilmShape } from '../drawing/film-shape.ts'
import { smoothstep } from '../drawing/noise.ts'
import type { Palette } from '../drawing/palette.ts'
import { randomFrom, type Random } from '../drawing/random.ts'
import type { WeatherName } from '../prompt/scene-words.ts'
import type { ScenePlan } from './scene-plan.ts'

/** Half the resolution is enough for soft particles; ffmpeg enlarges them. */
const reduction = 2

/** One byte of opacity per pixel, and the size of a pixel of a 720-line film in this plane. */
interface Plane {
  bytes: Buffer
  width: number
  height: number
  unit: number
}

interface Particle {
  /** Shares of the frame. */
  x: number
  y: number
  /** From 0, farthest, to 1, nearest. */
  nearness: number
  phase: number
}

interface Weather {
  /** For a square frame; other frames get more. */
  count: number
  colour(palette: Palette): Colour
  draw(plane: Plane, particle: Particle, seconds: number, wind: number): void
}

export function addWeather(graph: FilmGraph, name: WeatherName, plan: ScenePlan, shape: FilmShape): void {
  const source = weatherFrames(name, plan, shape)
  const colour = weathers[name].colour(plan.palette)
  overlay(graph, addSource(graph, source, { colour, width: shape.width, height: shape.height }), 'x=0:y=0')
}

function weatherFrames(name: WeatherName, plan: ScenePlan, shape: FilmShape): FrameSource {
  const weather = weathers[name]
  const random = randomFrom(plan.seed, `weather ${name}`)
  const width = Math.max(16, Math.round(shape.width / reduction))
  const height = Math.max(16, Math.round(shape.height / reduction))
  const plane: Plane = { bytes: Buffer.alloc(width * height), width, height, unit: shape.unit / reduction }
  const spread = (shape.width * shape.height) / (720 * shape.unit) ** 2
  const particles = Array.from({ length: Math.round(weather.count * spread) }, () => particleFrom(random))
  const wind = plan.direction === 'left' ? -1 : 1
  return {
    width,
    height,
    framesPerSecond,
    frameCount: shape.frameCount + 1,
    paint(seconds) {
      plane.bytes.fill(0)
      for (const particle of particles) weather.draw(plane, particle, seconds, wind)
      return plane.bytes
    },
  }
}

function particleFrom(random: Random): Particle {
  // Most particles are far away, as perspective requires.
  return {
    x: random.next(),
    y: random.next(),
    nearness: random.next() ** 2.2,
    phase: random.between(0, 6.28),
  }
}

const weathers: Record<WeatherName, Weather> = {
  snow: {
    count: 210,
    colour: () => '#ffffff',
    draw(plane, { x, y, nearness, phase }, seconds, wind) {
      const across = x + wind * seconds * (0.02 + 0.07 * nearness) + 0.018 * Math.sin(seconds * 1.3 + phase)
      const down = y + seconds * (0.07 + 0.2 * nearness)
      const radius = (1.9 + 7.5 * nearness) * plane.unit
      paintDot(plane, place(plane, across, down, radius), radius, 0.55 + 0.4 * (1 - nearness))
    },
  },
  rain: {
    count: 230,
    colour: ({ mist }) => mix('#e6f0ff', mist, 0.25),
    draw(plane, { x, y, nearness, phase }, seconds, wind) {
      const speed = 1.1 + 1.2 * nearness + 0.05 * Math.sin(phase)
      const length = (34 + 80 * nearness) * plane.unit
      const lean = 0.2 * wind
      const fallen = y + seconds * speed
      const at = place(plane, x + lean * (seconds * speed) * (plane.height / plane.width), fallen, length)
      paintStreak(plane, at, { x: lean * length, y: length }, 0.2 + 0.34 * nearness)
    },
  },
  embers: {
    count: 110,
    colour: () => '#ffb050',
    draw(plane, { x, y, nearness, phase }, seconds, wind) {
      const across = x + wind * seconds * 0.03 + 0.03 * Math.sin(seconds * 1.7 + phase)
      const up = y - seconds * (0.1 + 0.22 * nearness)
      const radius = (1.8 + 3.4 * nearness) * plane.unit
      const flicker = 0.6 + 0.4 * Math.sin(seconds * 9 + phase * 5)
      const at = place(plane, across, up, radius * 4)
      // Sparks fade on their way up.
      const heat = flicker * smoothstep(0, 0.5, at.y / plane.height)
      paintDot(plane, at, radius, heat)
      paintDot(plane, at, radius * 4, 0.26 * heat)
    },
  },
  petals: {
    count: 85,
    colour: () => '#ffa9c8',
    draw(plane, { x, y, nearness, phase }, seconds, wind) {
      const across = x + wind * seconds * (0.05 + 0.09 * nearness) + 0.03 * Math.sin(seconds * 1.1 + phase)
      const radius = (4.5 + 9 * nearness) * plane.unit
      const at = place(plane, across, y + seconds * (0.06 + 0.13 * nearness), radius)
      paintBlade(plane, at, radius, { angle: phase + seconds * 1.4, tilt: Math.sin(seconds * 2.1 + phase) })
    },
  },
  leaves: {
    count: 70,
    colour: () => '#f0a03c',
    draw(plane, { x, y, nearness, phase }, seconds, wind) {
      const across = x + wind * seconds * (0.06 + 0.1 * nearness) + 0.04 * Math.sin(seconds * 1.2 + phase)
      const radius = (5 + 11 * nearness) * plane.unit
      const at = place(plane, across, y + seconds * (0.08 + 0.15 * nearness), radius)
      paintBlade(plane, at, radius, { angle: phase - seconds * 1.8, tilt: Math.sin(seconds * 2.6 + phase) })
    },
  },
  motes: {
    count: 80,
    colour: ({ light }) => mix(light, '#ffe9a8', 0.4),
    draw(plane, { x, y, nearness, phase }, seconds, wind) {
      const across = x + wind * seconds * 0.012 + 0.02 * Math.sin(seconds * 0.6 + phase)
      const up = y - seconds * 0.018 + 0.015 * Math.cos(seconds * 0.8 + phase * 2)
      const radius = (2.2 + 6 * nearness) * plane.unit
      const twinkle = 0.45 + 0.4 * Math.sin(seconds * 1.9 + phase * 3)
      const at = place(plane, across, up, radius * 2.5)
      paintDot(plane, at, radius, twinkle * (0.85 - 0.45 * nearness))
      paintDot(plane, at, radius * 2.5, twinkle * 0.2)
    },
  },
  bubbles: {
    count: 75,
    colour: () => '#dff8ff',
    draw(plane, { x, y, nearness, phase }, seconds) {
      const across = x + 0.014 * Math.sin(seconds * 2.2 + phase)
      const radius = (3 + 11 * nearness) * plane.unit
      const at = place(plane, across, y - seconds * (0.08 + 0.16 * nearness), radius)
      paintRing(plane, at, radius, 0.7)
    },
  },
  stars: {
    count: 120,
    colour: () => '#ffffff',
    draw(plane, { x, y, nearness, phase }, seconds) {
      const down = y * 0.62
      const twinkle = 0.6 + 0.4 * Math.sin(seconds * 2.4 + phase * 4)
      const radius = (1.3 + 2 * nearness) * plane.unit
      const at = { x: x * plane.width, y: down * plane.height }
      const strength = twinkle * (1 - smoothstep(0.2, 0.62, down))
      paintDot(plane, at, Math.max(0.8, radius), strength)
      if (nearness > 0.5) paintDot(plane, at, radius * 3.4, 0.24 * strength)
    },
  },
}

interface Point {
  x: number
  y: number
}

/** Wraps around: a particle that leaves the frame on one side re-enters on the other. */
function place(plane: Plane, across: number, down: number, reach: number): Point {
  const width = plane.width + 2 * reach
  const height = plane.height + 2 * reach
  return { x: wrap(across) * width - reach, y: wrap(down) * height - reach }
}

function wrap(value: number): number {
  return value - Math.floor(value)
}

function forEachPixel(
  plane: Plane,
  at: Point,
  reach: number,
  opacityAt: (x: number, y: number) => number,
): void {
  const { bytes, width, height } = plane
  const left = Math.max(0, Math.floor(at.x - reach))
  const right = Math.min(width - 1, Math.ceil(at.x + reach))
  const top = Math.max(0, Math.floor(at.y - reach))
  const bottom = Math.min(height - 1, Math.ceil(at.y + reach))
  for (let y = top; y <= bottom; y++) {
    for (let x = left; x <= right; x++) {
      const value = 255 * opacityAt(x + 0.5 - at.x, y + 0.5 - at.y)
      const offset = y * width + x
      if (value > bytes[offset]!) bytes[offset] = Math.min(255, value)
    }
  }
}

function paintDot(plane: Plane, at: Point, radius: number, opacity: number): void {
  const reach = Math.max(0.8, radius)
  forEachPixel(plane, at, reach, (x, y) => {
    const share = 1 - (x * x + y * y) / (reach * reach)
    return share <= 0 ? 0 : opacity * Math.min(1, share * 1.5)
  })
}

function paintRing(plane: Plane, at: Point, radius: number, opacity: number): void {
  const thickness = Math.max(0.8, radius * 0.16)
  forEachPixel(plane, at, radius + 1, (x, y) => {
    const distance = Math.sqrt(x * x + y * y)
    const rim = Math.max(0, 1 - Math.abs(distance - radius + thickness) / thickness)
    // Brighter at the bottom, where light from above is refracted.
    return distance > radius ? 0 : opacity * Math.max(0.12, rim * (0.55 + 0.45 * (-y / radius)))
  })
}

/** A pointed petal or leaf, narrower while it is tilted. */
function paintBlade(plane: Plane, at: Point, radius: number, pose: { angle: number; tilt: number }): void {
  const cosine = Math.cos(pose.angle)
  const sine = Math.sin(pose.angle)
  const breadth = radius * (0.18 + 0.4 * Math.abs(pose.tilt))
  forEachPixel(plane, at, radius, (x, y) => {
    const along = (x * cosine + y * sine) / radius
    const across = (y * cosine - x * sine) / breadth
    const edge = 1 - along * along
    return Math.min(0.9, Math.max(0, (edge - Math.abs(across)) * breadth))
  })
}

function paintStreak(plane: Plane, at: Point, span: Point, opacity: number): void {
  const { bytes, width, height } = plane
  const steps = Math.max(2, Math.ceil(span.y))
  for (let step = 0; step <= steps; step++) {
    const share = step / steps
    const y = Math.round(at.y + span.y * share)
    if (y < 0 || y >= height) continue
    const x = at.x + span.x * share
    const column = Math.floor(x)
    const value = 255 * opacity * Math.sin(share * Math.PI)
    for (const [neighbour, part] of [
      [column, 1 - (x - column)],
      [column + 1, x - column],
    ] as const) {
      if (neighbour < 0 || neighbour >= width) continue
      const offset = y * width + neighbour
      bytes[offset] = Math.min(255, Math.max(bytes[offset]!, value * part))
    }
  }
}
