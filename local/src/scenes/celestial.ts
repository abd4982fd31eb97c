import { channelsOf, mix, type Channels } from '../drawing/colour.ts'
import { smoothstep } from '../drawing/noise.ts'
import { randomFrom } from '../drawing/random.ts'
import type { ScenePlan } from './scene-plan.ts'

/** The sun or the moon. */
export interface Light {
  x: number
  y: number
  radius: number
}

/** Three bytes per pixel. */
export interface Canvas {
  pixels: Buffer
  width: number
  height: number
}

interface Ink {
  colour: Channels
  opacity: number
}

/**
 * Paints a disc with soft edges. `inkAt` receives the distance from the centre and the offset from it, both as shares of the
 * radius.
 */
function paintCircle(
  canvas: Canvas,
  circle: Light,
  inkAt: (distance: number, across: number, down: number) => Ink,
): void {
  const { pixels, width, height } = canvas
  const reach = circle.radius + 1
  const top = Math.max(0, Math.floor(circle.y - reach))
  const bottom = Math.min(height - 1, Math.ceil(circle.y + reach))
  const left = Math.max(0, Math.floor(circle.x - reach))
  const right = Math.min(width - 1, Math.ceil(circle.x + reach))
  for (let y = top; y <= bottom; y++) {
    for (let x = left; x <= right; x++) {
      const across = x + 0.5 - circle.x
      const down = y + 0.5 - circle.y
      const distance = Math.sqrt(across * across + down * down)
      const cover = Math.min(1, circle.radius + 0.5 - distance)
      if (cover <= 0) continue
      const ink = inkAt(distance / circle.radius, across / circle.radius, down / circle.radius)
      const amount = ink.opacity * cover
      const offset = (y * width + x) * 3
      for (let channel = 0; channel < 3; channel++) {
        const before = pixels[offset + channel]!
        pixels[offset + channel] = Math.round(before + (ink.colour[channel]! - before) * amount)
      }
    }
  }
}

const starTints = ['#ffffff', '#dfe9ff', '#ffeedd'] as const

export function paintStars(canvas: Canvas, plan: ScenePlan, unit: number, horizon: number): void {
  const random = randomFrom(plan.seed, 'stars')
  const inSpace = plan.biome === 'space'
  const reach = inSpace ? canvas.height : horizon * 0.86
  const count = Math.round((inSpace ? 420 : 240) * Math.sqrt(canvas.width / canvas.height) ** 0.5)
  const scale = Math.max(0.7, unit)
  for (let index = 0; index < count; index++) {
    const x = random.next() * canvas.width
    const y = random.next() * reach
    // Stars are fainter near the bright horizon.
    const dimming = inSpace ? 1 : 1 - (y / reach) ** 2 * 0.8
    const radius = (0.45 + random.next() ** 4 * 1.5) * scale
    const colour = channelsOf(random.pick(starTints))
    const star: Ink = { colour, opacity: (0.2 + 0.75 * random.next()) * dimming }
    paintCircle(canvas, { x, y, radius }, () => star)
    if (radius > 1.6 * scale) {
      paintCircle(canvas, { x, y, radius: radius * 3 }, (distance) => ({
        colour,
        opacity: 0.2 * (1 - distance) * dimming,
      }))
    }
  }
}

export function paintLight(canvas: Canvas, plan: ScenePlan, light: Light): void {
  if (plan.biome === 'space' || plan.light === 'sun') paintSun(canvas, plan, light)
  else paintMoon(canvas, plan, light)
}

function paintSun(canvas: Canvas, plan: ScenePlan, light: Light): void {
  const { palette } = plan
  const inSpace = plan.biome === 'space'
  const core = mix(palette.light, '#ffffff', 0.6)
  const rim = inSpace ? '#ffffff' : mix(palette.light, palette.horizon, 0.3)
  const ramp = Array.from({ length: 65 }, (_, index) => {
    const distance = index / 64
    const body = mix(core, palette.light, Math.min(1, distance / 0.8))
    return channelsOf(mix(body, rim, smoothstep(0.8, 0.96, distance)))
  })
  const haze = channelsOf(palette.horizon)
  paintCircle(canvas, light, (distance) => ({
    colour: ramp[Math.min(64, Math.round(distance * 64))]!,
    opacity: 1 - smoothstep(0.955, 1, distance),
  }))
  if (inSpace) return
  // Haze covers the lower half near the horizon.
  paintCircle(canvas, light, (distance, _across, down) => ({
    colour: haze,
    opacity: 0.5 * Math.max(0, down) * (1 - smoothstep(0.955, 1, distance)),
  }))
}

function paintMoon(canvas: Canvas, plan: ScenePlan, light: Light): void {
  const { palette } = plan
  const random = randomFrom(plan.seed, 'moon')
  const seas = Array.from({ length: 7 }, () => {
    const angle = random.between(0, Math.PI * 2)
    const reach = 0.72 * Math.sqrt(random.next())
    return { x: Math.cos(angle) * reach, y: Math.sin(angle) * reach, radius: random.between(0.14, 0.42) }
  })
  const bright = channelsOf(mix(palette.light, '#ffffff', 0.4))
  const shade = channelsOf(palette.sky)
  paintCircle(canvas, light, () => ({ colour: bright, opacity: 1 }))
  paintCircle(canvas, light, (_distance, across, down) => {
    let sea = 0
    for (const { x, y, radius } of seas) {
      const distance = Math.hypot(across - x, down - y)
      sea = Math.max(sea, 1 - smoothstep(radius * 0.7, radius * 1.1, distance))
    }
    const turnedAway = smoothstep(0.7, 1.5, Math.hypot(across + 0.25, down + 0.3))
    return { colour: shade, opacity: 0.14 * sea + 0.42 * turnedAway }
  })
}
