import { createHash } from 'node:crypto'

import { mix, saturate, turnHue, type Colour } from './colour.ts'
import {
  biomeRules,
  figureRules,
  firstMentioned,
  mentions,
  mostMentioned,
  paletteRules,
  weatherRules,
  wordsOf,
  type Biome,
  type FigureName,
  type PaletteName,
  type WeatherName,
} from './keywords.ts'
import { randomFrom, type Random } from './random.ts'

export interface Palette {
  zenith: Colour
  sky: Colour
  horizon: Colour
  far: Colour
  near: Colour
  light: Colour
  mist: Colour
}

export interface ScenePlan {
  seed: string
  paletteName: PaletteName
  palette: Palette
  biome: Biome
  stars: boolean
  light: 'sun' | 'moon'
  snow: boolean
  /** 1 is the usual amount; prompts that speak of fog get more. */
  mistStrength: number
  /** Which way the world passes by. */
  direction: 'left' | 'right'
  mood: 'bright' | 'wistful'
  figure: FigureName | undefined
  weather: WeatherName | undefined
}

const palettes: Record<PaletteName, Palette> = {
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

/** Where each figure looks at home; elsewhere it is left out rather than set on dry land. */
const figureHomes: Record<FigureName, readonly Biome[]> = {
  whale: ['water'],
  boat: ['water'],
  astronaut: ['space'],
  dragon: ['mountains', 'water', 'dunes', 'forest', 'city'],
  balloon: ['mountains', 'water', 'dunes', 'forest', 'city'],
  birds: ['mountains', 'water', 'dunes', 'forest'],
}

export interface SceneWish {
  prompt: string
  style?: string | undefined
  seed?: number | undefined
}

export function planScene(wish: SceneWish): ScenePlan {
  const seed = createHash('sha256')
    .update(JSON.stringify([wish.prompt, wish.style ?? '', wish.seed ?? 0]))
    .digest('hex')
  const random = randomFrom(seed, 'plan')
  const words = wordsOf(wish.prompt)
  const anyPalette = random.pick<PaletteName>([
    'dawn',
    'day',
    'sunset',
    'night',
    'forest',
    'desert',
    'ice',
    'ember',
  ])
  const anyBiome = random.pick<Biome>(['mountains', 'water', 'dunes', 'forest'])
  const biome = mostMentioned(biomeRules, wish.prompt, words) ?? anyBiome
  const paletteName =
    paletteOfStyle(wish.style) ??
    firstMentioned(paletteRules, wish.prompt, words) ??
    usualPalette(biome, anyPalette)
  // A little turn of the hue keeps two prompts with the same keywords from looking alike.
  const hueDegrees = random.between(-9, 9)
  const tint = tintOfStyle(wish.style)
  const dark = paletteName === 'night' || paletteName === 'neon'
  return {
    seed,
    paletteName,
    palette: mapPalette(palettes[paletteName], (colour) => tint(turnHue(colour, hueDegrees))),
    biome,
    stars: dark || biome === 'space',
    light: dark ? 'moon' : 'sun',
    snow: paletteName === 'ice' || mentions(words, 'snow snowy winter alps glacier'),
    mistStrength: mentions(words, 'mist misty fog foggy haze hazy smoke cloud clouds') ? 1.35 : 1,
    direction: random.chance(0.5) ? 'left' : 'right',
    weather: firstMentioned(weatherRules, wish.prompt, words),
    figure: chooseFigure(wish.prompt, words, biome, dark ? 0 : 0.4, random),
    mood: dark || ['ember', 'sunset', 'storm', 'autumn'].includes(paletteName) ? 'wistful' : 'bright',
  }
}

function chooseFigure(
  prompt: string,
  words: Set<string>,
  biome: Biome,
  birdsChance: number,
  random: Random,
): FigureName | undefined {
  const named = firstMentioned(figureRules, prompt, words)
  const figure = named ?? (random.chance(birdsChance) ? 'birds' : undefined)
  return figure !== undefined && figureHomes[figure].includes(biome) ? figure : undefined
}

function usualPalette(biome: Biome, otherwise: PaletteName): PaletteName {
  if (biome === 'space') return 'night'
  if (biome === 'city') return 'neon'
  return otherwise
}

function paletteOfStyle(style: string | undefined): PaletteName | undefined {
  if (style === undefined) return undefined
  return mentions(wordsOf(style), 'neon cyberpunk synthwave vaporwave') ? 'neon' : undefined
}

/** A style never changes what is shown, only its colours. */
function tintOfStyle(style: string | undefined): (colour: Colour) => Colour {
  if (style === undefined || style.trim() === '') return (colour) => colour
  const words = wordsOf(style)
  if (mentions(words, 'noir monochrome black bw')) return (colour) => saturate(colour, 0.08)
  if (mentions(words, 'vintage retro sepia film nostalgic')) {
    return (colour) => mix(saturate(colour, 0.6), '#c08a52', 0.18)
  }
  if (mentions(words, 'pastel watercolor watercolour soft dreamy')) {
    return (colour) => mix(saturate(colour, 0.85), '#fff1f0', 0.22)
  }
  if (mentions(words, 'anime comic cartoon vivid vibrant pop neon')) return (colour) => saturate(colour, 1.35)
  if (mentions(words, 'warm golden')) return (colour) => mix(colour, '#ffb060', 0.14)
  if (mentions(words, 'cool cold blue')) return (colour) => mix(colour, '#4a86d8', 0.16)
  const degrees = randomFrom(style, 'style').between(-24, 24)
  return (colour) => turnHue(colour, degrees)
}

function mapPalette(source: Palette, change: (colour: Colour) => Colour): Palette {
  return {
    zenith: change(source.zenith),
    sky: change(source.sky),
    horizon: change(source.horizon),
    far: change(source.far),
    near: change(source.near),
    light: change(source.light),
    mist: change(source.mist),
  }
}
