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

export type Biome = 'mountains' | 'water' | 'dunes' | 'forest' | 'city' | 'space'

export type FigureName = 'whale' | 'boat' | 'astronaut' | 'dragon' | 'balloon' | 'birds'

/** What falls, rises or hangs in the air. */
export type WeatherName = 'snow' | 'rain' | 'embers' | 'petals' | 'leaves' | 'motes' | 'bubbles' | 'stars'

interface Rule<Name extends string> {
  name: Name
  /** Whole words, for scripts that put spaces between them. */
  words: string
  /** Looked for anywhere, for scripts that do not. */
  signs: string
}

// For colours the first rule that matches wins, so what is rarer and more telling stands first.
export const paletteRules: Rule<PaletteName>[] = [
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
      'night nights nighttime dark star stars starry moon moonlight moonlit midnight space galaxy cosmos cosmic nebula planet planets astronaut astronauts aurora',
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
    name: 'autumn',
    words: 'autumn autumnal october november maple maples harvest foliage',
    signs: '秋 枫',
  },
  {
    name: 'blossom',
    words: 'blossom blossoms blooming sakura cherry petal petals pink lavender tulip tulips rose roses',
    signs: '樱 花瓣 桃花 桜',
  },
  {
    name: 'storm',
    words: 'storm stormy rain rainy raining thunder thunderstorm lightning drizzle monsoon gloomy overcast',
    signs: '雨 暴风 雷 阴天',
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
export const biomeRules: Rule<Biome>[] = [
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

export const figureRules: Rule<FigureName>[] = [
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

// The first rule that matches wins.
export const weatherRules: Rule<WeatherName>[] = [
  {
    name: 'snow',
    words: 'snow snowy snowfall snowing snowstorm snowflake snowflakes winter blizzard christmas',
    signs: '雪 冬',
  },
  {
    name: 'rain',
    words: 'rain rainy raining rainfall storm stormy thunderstorm downpour drizzle monsoon wet',
    signs: '雨 暴风',
  },
  {
    name: 'embers',
    words:
      'ember embers fire fires flame flames lava volcano volcanic spark sparks campfire bonfire inferno burning',
    signs: '火 熔岩 炎',
  },
  { name: 'petals', words: 'petal petals blossom blossoms sakura cherry confetti', signs: '花瓣 樱 桃花 桜' },
  {
    name: 'leaves',
    words: 'autumn autumnal leaf leaves maple foliage october november',
    signs: '落叶 枫 秋',
  },
  {
    name: 'bubbles',
    words: 'underwater bubble bubbles coral reef aquarium submarine',
    signs: '水下 海底 气泡',
  },
  {
    name: 'motes',
    words:
      'firefly fireflies magic magical enchanted fairy sparkle sparkles sparkling glitter dust dreamy glowing',
    signs: '萤火虫 魔法 梦幻',
  },
]

export function wordsOf(text: string): Set<string> {
  return new Set(text.toLowerCase().match(/[\p{L}\p{N}]+/gu))
}

export function mentions(words: Set<string>, list: string): boolean {
  return list.split(' ').some((word) => words.has(word))
}

function matchCount(rule: Rule<string>, prompt: string, words: Set<string>): number {
  return (
    rule.words.split(' ').filter((word) => words.has(word)).length +
    rule.signs.split(' ').filter((sign) => prompt.includes(sign)).length
  )
}

/** The first rule with any match. */
export function firstMentioned<Name extends string>(
  rules: Rule<Name>[],
  prompt: string,
  words: Set<string>,
): Name | undefined {
  return rules.find((rule) => matchCount(rule, prompt, words) > 0)?.name
}

/** The rule with most matches, and the first of those that are even. */
export function mostMentioned<Name extends string>(
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
