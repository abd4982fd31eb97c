import { channelsOf, mix, type Channels, type Colour } from '../drawing/colour.ts'
import type { PaletteName } from '../drawing/palette.ts'
import type { ScenePlan } from '../scenes/scene-plan.ts'

/** The colour correction for one palette. */
interface Grade {
  exposure: number
  contrast: number
  saturation: number
  /** The share of the palette's colour in the result. */
  tint: number
}

const grades: Record<PaletteName, Grade> = {
  dawn: { exposure: 1.06, contrast: 0.92, saturation: 0.6, tint: 0.6 },
  day: { exposure: 1.18, contrast: 1.08, saturation: 1.15, tint: 0.36 },
  sunset: { exposure: 1.08, contrast: 1.1, saturation: 0.6, tint: 0.68 },
  night: { exposure: 0.64, contrast: 1.12, saturation: 0.5, tint: 0.66 },
  forest: { exposure: 0.96, contrast: 1.04, saturation: 0.6, tint: 0.6 },
  desert: { exposure: 1.1, contrast: 1.05, saturation: 0.6, tint: 0.64 },
  ice: { exposure: 1.45, contrast: 0.92, saturation: 0.3, tint: 0.74 },
  ember: { exposure: 0.8, contrast: 1.22, saturation: 0.8, tint: 0.64 },
  neon: { exposure: 0.86, contrast: 1.28, saturation: 0.7, tint: 0.68 },
  autumn: { exposure: 1.04, contrast: 1.06, saturation: 0.6, tint: 0.64 },
  blossom: { exposure: 0.94, contrast: 0.94, saturation: 0.65, tint: 0.58 },
  storm: { exposure: 0.74, contrast: 1.1, saturation: 0.4, tint: 0.55 },
  deep: { exposure: 0.86, contrast: 1, saturation: 0.5, tint: 0.66 },
}

const cubeSize = 25

/** The grade as a .cube file, the colour table format of ffmpeg. */
export function gradeCube(plan: ScenePlan): string {
  const grade = grades[plan.paletteName]
  const ramp = toneRamp(plan)
  const lines = [`LUT_3D_SIZE ${cubeSize}`]
  const at = (index: number) => (255 * index) / (cubeSize - 1)
  for (let blue = 0; blue < cubeSize; blue++) {
    for (let green = 0; green < cubeSize; green++) {
      for (let red = 0; red < cubeSize; red++) {
        const graded = gradeColour([at(red), at(green), at(blue)], grade, ramp)
        lines.push(graded.map((channel) => (clamp(channel) / 255).toFixed(5)).join(' '))
      }
    }
  }
  return `${lines.join('\n')}\n`
}

function gradeColour(colour: Channels, grade: Grade, ramp: Channels[]): Channels {
  const lit = colour.map((channel) => {
    const exposed = (channel / 255) * grade.exposure
    // Contrast around the middle, with a shoulder that avoids hard clipping.
    return 255 * shoulder(0.44 + (exposed - 0.44) * grade.contrast)
  }) as unknown as Channels
  const brightness = clamp(0.213 * lit[0] + 0.715 * lit[1] + 0.072 * lit[2])
  const tone = ramp[Math.round(brightness)]!
  return lit.map((channel, index) => {
    const own = brightness + (channel - brightness) * grade.saturation
    return own + (tone[index]! - own) * grade.tint
  }) as unknown as Channels
}

function shoulder(value: number): number {
  if (value <= 0) return 0
  return value < 0.8 ? value : 0.8 + 0.2 * Math.tanh((value - 0.8) / 0.2)
}

/** A palette colour for each brightness, from ground colours for shadows to light for highlights. */
function toneRamp({ palette, paletteName }: ScenePlan): Channels[] {
  const middle = paletteName === 'ice' || paletteName === 'day' ? palette.far : palette.sky
  const stops: [number, Colour][] = [
    [0, mix(palette.near, '#000000', 0.3)],
    [
      70,
      paletteName === 'ice'
        ? mix(palette.sky, palette.zenith, 0.45)
        : mix(palette.zenith, palette.near, 0.25),
    ],
    [128, middle],
    [190, palette.horizon],
    [255, mix(palette.light, '#ffffff', 0.2)],
  ]
  return Array.from({ length: 256 }, (_, brightness) => {
    const upper = Math.max(
      1,
      stops.findIndex(([position]) => position >= brightness),
    )
    const [from, fromColour] = stops[upper - 1]!
    const [to, toColour] = stops[upper]!
    return channelsOf(mix(fromColour, toColour, (brightness - from) / (to - from)))
  })
}

function clamp(value: number): number {
  return Math.min(255, Math.max(0, value))
}
