import type { FilmShape } from '../drawing/film-shape.ts'
import { planeNoise, smoothstep } from '../drawing/noise.ts'
import { randomFrom } from '../drawing/random.ts'
import type { Biome } from '../prompt/scene-words.ts'
import type { ScenePlan } from './scene-plan.ts'

/** Half the frame rate of the film is enough for slow mist. */
export const mistFramesPerSecond = 12

/** Mist has little detail, so it is painted at an eighth of the resolution; ffmpeg enlarges it. */
const reduction = 8

const usualStrength: Record<Biome, number> = {
  mountains: 0.8,
  forest: 0.85,
  city: 0.5,
  dunes: 0.34,
  water: 0.26,
  space: 0.3,
  meadow: 0.3,
  room: 0,
  underwater: 0.3,
  mars: 0.4,
  moon: 0,
  plain: 0.3,
}

export interface MistGrid {
  width: number
  height: number
  /** Paints the mist at a time, in seconds, as one byte of opacity per pixel. The buffer is reused. */
  paint(seconds: number): Buffer
}

export function driftingMist(plan: ScenePlan, shape: FilmShape): MistGrid {
  const random = randomFrom(plan.seed, 'mist')
  const noise = planeNoise(random)
  const width = Math.max(16, Math.round(shape.width / reduction / 2) * 2)
  const height = Math.max(16, Math.round(shape.height / reduction / 2) * 2)
  const bytes = Buffer.alloc(width * height)
  const strength = 255 * Math.min(1, usualStrength[plan.biome] * plan.mistStrength)
  const wind = plan.direction === 'left' ? 0.2 : -0.2
  const belt = Float64Array.from({ length: height }, (_, row) => beltAt(plan.biome, row / height))
  const scale = (reduction / (720 * shape.unit)) * 2.3
  const flatness = plan.biome === 'space' ? 1.2 : 3.1
  return {
    width,
    height,
    paint(seconds) {
      const drift = seconds * wind + 90
      for (let row = 0; row < height; row++) {
        const opacity = strength * belt[row]!
        const offset = row * width
        if (opacity < 1) {
          bytes.fill(0, offset, offset + width)
          continue
        }
        const y = row * scale * flatness
        for (let column = 0; column < width; column++) {
          const x = column * scale + drift
          const bend = noise(x * 0.6 + 3, y * 0.6 + seconds * 0.05)
          const density =
            0.54 * noise(x + bend * 1.5, y + bend * 1.1 + seconds * 0.035) +
            0.3 * noise(x * 2.2 + drift * 0.35, y * 2.1 + bend) +
            0.16 * noise(x * 4.6 + drift * 0.8, y * 4.2)
          bytes[offset + column] = opacity * smoothstep(0.36, 0.82, density)
        }
      }
      return bytes
    },
  }
}

/** The vertical distribution of mist: in the valleys, not in the sky and not in the foreground. */
function beltAt(biome: Biome, position: number): number {
  if (biome === 'space') return 1
  const centre = biome === 'water' ? 0.56 : 0.7
  const spread = biome === 'water' ? 0.1 : 0.2
  return Math.exp(-(((position - centre) / spread) ** 2))
}
