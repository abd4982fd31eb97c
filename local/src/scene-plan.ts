import { createHash } from 'node:crypto'

import { mix, saturate, turnHue, type Colour } from './colour.ts'
import { randomFrom, type Random } from './random.ts'

type PaletteName = 'dawn' | 'day' | 'sunset' | 'night' | 'forest' | 'desert' | 'ice' | 'ember' | 'neon'

export type Biome = 'mountains' | 'water' | 'dunes' | 'forest' | 'city' | 'space'

export type FigureName = 'whale' | 'boat' | 'astronaut' | 'dragon' | 'balloon' | 'birds'

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

interface Rule<Name extends string> {
  name: Name
  /** Whole words, for scripts that put spaces between them. */
  words: string
  /** Looked for anywhere, for scripts that do not. */
  signs: string
}

// For colours the first rule that matches wins, so what is rarer and more telling stands first.
const paletteRules: Rule<PaletteName>[] = [
  {
    name: 'neon',
    words: 'neon cyber cyberpunk synthwave vaporwave futuristic robot robots tokyo',
    signs: '霓虹 赛博 机器人 ネオン',
  },
  {
    name: 'ember',
    words: 'fire lava volcano volcanic flame flames ember embers inferno',
    signs: '火山 熔岩 火焰 炎',
  },
  {
    name: 'night',
    words:
      'night nights star stars starry moon moonlight moonlit midnight space galaxy cosmos cosmic nebula planet planets astronaut astronauts aurora',
    signs: '夜 星 月光 月亮 太空 宇宙 银河',
  },
  {
    name: 'sunset',
    words: 'sunset sunsets dusk evening twilight',
    signs: '日落 夕阳 黄昏 傍晚 夕日',
  },
  { name: 'dawn', words: 'dawn sunrise morning daybreak', signs: '日出 黎明 清晨 早晨 朝' },
  {
    name: 'ice',
    words:
      'snow snowy snowfall ice icy winter frost frozen arctic glacier glaciers antarctic iceberg penguin penguins',
    signs: '雪 冰 冬',
  },
  {
    name: 'desert',
    words: 'desert deserts dune dunes sand sands sandy canyon savanna sahara camel camels',
    signs: '沙漠 沙丘 砂',
  },
  {
    name: 'forest',
    words:
      'forest forests jungle tree trees garden wood woods woodland meadow leaf leaves moss bamboo green rainforest',
    signs: '森 林 树 竹 花园',
  },
  { name: 'sunset', words: 'golden amber', signs: '金色' },
  {
    name: 'day',
    words:
      'ocean sea beach wave waves lake river sky cloud clouds mountain mountains day sunny summer spring noon',
    signs: '海 湖 河 天空 云 山 春 夏',
  },
]

// For places the rule with most matches wins, and the first of those that are even.
const biomeRules: Rule<Biome>[] = [
  {
    name: 'space',
    words:
      'space galaxy galaxies planet planets cosmos cosmic nebula astronaut astronauts orbit spaceship spacecraft asteroid mars saturn jupiter',
    signs: '太空 宇宙 银河 行星 星球 宇航',
  },
  {
    name: 'city',
    words:
      'city cities neon cyber cyberpunk street streets skyline building buildings skyscraper skyscrapers tokyo robot robots downtown town urban traffic',
    signs: '城市 都市 街 霓虹 大楼 赛博',
  },
  {
    name: 'water',
    words:
      'ocean oceans sea seas beach wave waves lake river boat boats ship ships sailing water whale whales fish dolphin dolphins island islands harbor harbour coast shore underwater turtle shark',
    signs: '海 洋 湖 河 船 鲸 鱼 岛',
  },
  {
    name: 'forest',
    words:
      'forest forests jungle tree trees wood woods woodland pine pines garden meadow deer fox bear bamboo rainforest',
    signs: '森 树 竹 花园',
  },
  {
    name: 'dunes',
    words: 'desert deserts dune dunes sand sands sahara camel camels pyramid pyramids',
    signs: '沙漠 沙丘',
  },
  {
    name: 'mountains',
    words:
      'mountain mountains hill hills valley canyon volcano dragon dragons snow snowy alps peak peaks summit glacier cliff cliffs eagle eagles',
    signs: '山 谷 峰 龙 雪',
  },
]

const figureRules: Rule<FigureName>[] = [
  { name: 'whale', words: 'whale whales', signs: '鲸' },
  { name: 'dragon', words: 'dragon dragons wyvern', signs: '龙' },
  { name: 'astronaut', words: 'astronaut astronauts cosmonaut spacewalk', signs: '宇航 太空人' },
  { name: 'balloon', words: 'balloon balloons', signs: '气球' },
  { name: 'boat', words: 'boat boats sailboat ship ships sailing yacht', signs: '船 帆' },
  {
    name: 'birds',
    words: 'bird birds gull gulls seagull seagulls eagle eagles crane cranes geese swallows',
    signs: '鸟 鹰 鹤',
  },
]

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
    matching(paletteRules, wish.prompt, words) ??
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
    figure: chooseFigure(wish.prompt, words, biome, dark ? 0 : 0.4, random),
    mood: dark || paletteName === 'ember' || paletteName === 'sunset' ? 'wistful' : 'bright',
  }
}

function chooseFigure(
  prompt: string,
  words: Set<string>,
  biome: Biome,
  birdsChance: number,
  random: Random,
): FigureName | undefined {
  const named = matching(figureRules, prompt, words)
  const figure = named ?? (random.chance(birdsChance) ? 'birds' : undefined)
  return figure !== undefined && figureHomes[figure].includes(biome) ? figure : undefined
}

function usualPalette(biome: Biome, otherwise: PaletteName): PaletteName {
  if (biome === 'space') return 'night'
  if (biome === 'city') return 'neon'
  return otherwise
}

function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu))
}

function mentions(words: Set<string>, list: string): boolean {
  return list.split(' ').some((word) => words.has(word))
}

function matchCount(rule: Rule<string>, prompt: string, words: Set<string>): number {
  return (
    rule.words.split(' ').filter((word) => words.has(word)).length +
    rule.signs.split(' ').filter((sign) => prompt.includes(sign)).length
  )
}

function matching<Name extends string>(
  rules: Rule<Name>[],
  prompt: string,
  words: Set<string>,
): Name | undefined {
  return rules.find((rule) => matchCount(rule, prompt, words) > 0)?.name
}

function mostMentioned<Name extends string>(
  rules: Rule<Name>[],
  prompt: string,
  words: Set<string>,
): Name | undefined {
  let best: { name: Name; count: number } | undefined
  for (const rule of rules) {
    const count = matchCount(rule, prompt, words)
    if (count > (best?.count ?? 0)) best = { name: rule.name, count }
  }
  return best?.name
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
