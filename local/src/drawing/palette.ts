import { mix, type Colour } from './colour.ts'

export interface Palette {
  zenith: Colour
  sky: Colour
  horizon: Colour
  far: Colour
  near: Colour
  light: Colour
  mist: Colour
}

export type PaletteName =
  | 'dawn'
  | 'day'
  | 'sunset'
  | 'night'
  | 'forest'
  | 'desert'
  | 'ice'
  | 'ember'
  | 'neon'
  | 'autumn'
  | 'blossom'
  | 'storm'
  | 'deep'

export const palettes: Record<PaletteName, Palette> = {
  dawn: palette('#2f3468', '#b3709a', '#ffcba4', '#9a7ba6', '#1f1c3c', '#fff3d6', '#ffdccb'),
  day: palette('#1f63ad', '#6fb0e6', '#e3f3fb', '#93b7cd', '#123546', '#fffbe8', '#f5fcff'),
  sunset: palette('#221649', '#b03f66', '#ffa05a', '#84496c', '#170d28', '#ffe3a8', '#ffbd90'),
  night: palette('#040813', '#0e1c3c', '#2d4a7a', '#26406b', '#03060e', '#eef3ff', '#54769f'),
  forest: palette('#11352f', '#46836a', '#e2edc2', '#6a9c7a', '#08201a', '#fff8d2', '#dcf2d6'),
  desert: palette('#3f3268', '#d97a52', '#ffe2a6', '#d59561', '#4a2119', '#fff4cf', '#ffe6bd'),
  ice: palette('#0d2a47', '#4488b3', '#dff3f7', '#8fbccf', '#0e2a3c', '#ffffff', '#eafcff'),
  ember: palette('#120508', '#611a1c', '#ff7434', '#63261f', '#0c0304', '#ffd595', '#ff9a60'),
  neon: palette('#0a0424', '#3f1270', '#ff56a8', '#4f2290', '#07021a', '#ffd0ef', '#a964ff'),
  autumn: palette('#5b3f57', '#d98a54', '#ffe3a1', '#b9673a', '#31130c', '#fff0c4', '#ffd9a0'),
  blossom: palette('#7f8fd0', '#e8a9c8', '#fff0ea', '#c98fb4', '#4a2347', '#fff7ee', '#ffe3ee'),
  storm: palette('#1b232c', '#44525f', '#9fb0b8', '#5a6a74', '#0f161c', '#dfe9ec', '#a9b9c1'),
  deep: palette('#2f9fd0', '#1473a8', '#0b4a7c', '#1b6a96', '#06283f', '#d6f6ff', '#8fd8f0'),
}

function palette(
  zenith: Colour,
  sky: Colour,
  horizon: Colour,
  far: Colour,
  near: Colour,
  light: Colour,
  mist: Colour,
): Palette {
  return { zenith, sky, horizon, far, near, light, mist }
}

/** How much each palette darkens the colours of subjects. */
const dimming: Record<PaletteName, number> = {
  dawn: 0.14,
  day: 0,
  sunset: 0.2,
  night: 0.4,
  forest: 0.1,
  desert: 0.06,
  ice: 0,
  ember: 0.3,
  neon: 0.32,
  autumn: 0.05,
  blossom: 0,
  storm: 0.22,
  deep: 0.1,
}

/** Adapts the colour of a subject to the light of a palette: darker, and slightly tinted. */
export function litBy(name: PaletteName, palette: Palette): (colour: Colour) => Colour {
  return (colour) =>
    mix(mix(colour, palette.horizon, 0.06), mix(palette.near, palette.sky, 0.25), dimming[name])
}
