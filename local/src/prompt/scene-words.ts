import type { PaletteName } from '../drawing/palette.ts'

export type Biome =
  | 'mountains'
  | 'water'
  | 'dunes'
  | 'forest'
  | 'city'
  | 'space'
  | 'meadow'
  | 'room'
  | 'underwater'
  | 'mars'
  | 'moon'
  /** A neutral backdrop for prompts without a known place. */
  | 'plain'

/** Particles in the air. */
export type WeatherName = 'snow' | 'rain' | 'embers' | 'petals' | 'leaves' | 'motes' | 'bubbles' | 'stars'

export interface Rule<Name extends string> {
  name: Name
  /** Whole words; a hyphen stands for a hyphen or a space. */
  words: string
  /** Substrings, for scripts without spaces and for emoji. */
  signs: string
}

// The first matching rule wins, so rarer and more specific rules come first.
export const paletteRules: Rule<PaletteName>[] = [
  {
    name: 'neon',
    words: 'neon cyber cyberpunk synthwave vaporwave futuristic',
    signs: '霓虹 赛博 ネオン',
  },
  {
    name: 'deep',
    words: 'underwater under-the-sea under-water reef coral aquarium seabed bottom-of-the-sea',
    signs: '水下 海底',
  },
  {
    name: 'ember',
    words: 'lava volcano volcanic flame flames ember embers inferno wildfire campfire bonfire',
    signs: '火山 熔岩 火焰 炎 🌋 🔥',
  },
  {
    name: 'night',
    words:
      'night nights nighttime darkness star stars starry moon on-the-moon moonlight moonlit midnight space galaxy cosmos cosmic nebula planet planets astronaut astronauts aurora bedtime',
    signs: '夜 星 月光 月亮 太空 宇宙 银河 🌙 🌃 ⭐',
  },
  {
    name: 'sunset',
    words: 'sunset sunsets dusk evening twilight golden-hour',
    signs: '日落 夕阳 黄昏 傍晚 夕日 🌅 🌇',
  },
  { name: 'dawn', words: 'dawn sunrise morning daybreak', signs: '日出 黎明 清晨 早晨 朝 🌄' },
  {
    name: 'ice',
    words:
      'snow snowy snowfall snowman snowmen snow-covered snow-capped ice icy winter frost frozen arctic glacier glaciers antarctic iceberg penguin penguins christmas sledge sled',
    signs: '雪 冰 冬 ⛄ ❄',
  },
  {
    name: 'autumn',
    words: 'autumn autumnal october november maple maples harvest foliage fall-leaves',
    signs: '秋 枫 🍁 🍂',
  },
  {
    name: 'blossom',
    words: 'blossom blossoms blooming sakura petal petals cherry-tree cherry-trees',
    signs: '樱 花瓣 桃花 桜 🌸',
  },
  {
    name: 'storm',
    words:
      'storm stormy rain rainy raining thunder thunderstorm lightning lightning-bolt drizzle monsoon gloomy overcast',
    signs: '雨 暴风 雷 阴天 ⛈ 🌧 ⚡',
  },
  {
    name: 'desert',
    words: 'desert deserts dune dunes canyon savanna savannah sahara camel camels mars',
    signs: '沙漠 沙丘 砂 🏜',
  },
  {
    name: 'forest',
    words: 'forest forests jungle wood woods woodland moss bamboo rainforest',
    signs: '森 林 竹 🌲',
  },
  {
    name: 'day',
    words: 'day daytime sunny summer spring noon afternoon sunshine',
    signs: '春 夏 ☀',
  },
]

// The rule with the most matches wins; of equal ones, the one that matches first in the prompt.
export const biomeRules: Rule<Biome>[] = [
  { name: 'moon', words: 'on-the-moon lunar moon-landing', signs: '月球' },
  { name: 'mars', words: 'mars red-planet martian', signs: '火星' },
  {
    name: 'space',
    words:
      'space galaxy galaxies planet planets cosmos cosmic nebula orbit asteroid saturn jupiter outer-space',
    signs: '太空 宇宙 银河 行星 星球 🪐 🌌',
  },
  {
    name: 'underwater',
    words: 'underwater under-the-sea under-water reef coral aquarium seabed bottom-of-the-sea',
    signs: '水下 海底',
  },
  {
    name: 'city',
    words:
      'city cities street streets skyline building buildings skyscraper skyscrapers tokyo paris london new-york downtown town urban traffic rooftop',
    signs: '城市 都市 街 霓虹 大楼 赛博 🏙 🌃',
  },
  {
    name: 'water',
    words:
      'ocean oceans sea seas beach beaches wave waves lake river stream pond water island islands harbor harbour coast shore seaside bay waterfall ocean-waves',
    signs: '海 洋 湖 河 岛 🌊 🏖',
  },
  {
    name: 'forest',
    words: 'forest forests jungle wood woods woodland pines bamboo rainforest',
    signs: '森 林 竹 🌲',
  },
  {
    name: 'dunes',
    words: 'desert deserts dune dunes sand sands sahara pyramid pyramids',
    signs: '沙漠 沙丘 🏜',
  },
  {
    name: 'mountains',
    words: 'mountain mountains valley canyon volcano alps peak peaks summit glacier cliff cliffs himalayas',
    signs: '山 谷 峰 ⛰ 🏔',
  },
  {
    name: 'meadow',
    words:
      'garden gardens meadow meadows field fields park parks lawn grass farm countryside hill hills backyard yard playground pasture prairie road path lane savanna savannah country-road orchard outside zoo',
    signs: '花园 草地 公园 田',
  },
  {
    name: 'room',
    words:
      'room bedroom kitchen living-room classroom bathroom indoors table desk sofa couch bed shelf armchair library windowsill at-home floor rug carpet fireplace vase vases',
    signs: '房间 厨房 桌',
  },
]

export type Furniture = 'table' | 'bed' | 'sofa' | 'floor'

export const furnitureRules: Rule<Furniture>[] = [
  { name: 'bed', words: 'bed bedroom bunk pillow', signs: '床 🛏' },
  { name: 'sofa', words: 'sofa couch armchair', signs: '沙发 🛋' },
  { name: 'floor', words: 'floor rug carpet', signs: '地板' },
  { name: 'table', words: 'table desk windowsill shelf', signs: '桌' },
]

// The first matching rule wins.
export const weatherRules: Rule<WeatherName>[] = [
  {
    name: 'snow',
    words:
      'snow snowy snowfall snowing snowstorm snowflake snowflakes winter blizzard christmas snowman snowmen',
    signs: '雪 冬 ❄ ⛄',
  },
  {
    name: 'rain',
    words: 'rain rainy raining rainfall storm stormy thunderstorm downpour drizzle monsoon lightning',
    signs: '雨 暴风 🌧 ⛈',
  },
  {
    name: 'embers',
    words:
      'ember embers fire fires flame flames lava volcano volcanic spark sparks campfire bonfire inferno burning',
    signs: '火 熔岩 炎 🔥 🌋',
  },
  { name: 'petals', words: 'petal petals blossom blossoms sakura confetti', signs: '花瓣 樱 桃花 桜 🌸' },
  {
    name: 'leaves',
    words: 'autumn autumnal leaves maple foliage october november',
    signs: '落叶 枫 秋 🍂 🍁',
  },
  {
    name: 'bubbles',
    words: 'underwater under-the-sea bubble bubbles coral reef aquarium submarine',
    signs: '水下 海底 气泡',
  },
  {
    name: 'motes',
    words:
      'firefly fireflies magic magical enchanted fairy sparkle sparkles sparkling glitter dreamy glowing',
    signs: '萤火虫 魔法 梦幻 ✨',
  },
]

/** The place if a prompt mentions only the sky or the season. */
export const openAirRules: Rule<Biome>[] = [
  {
    name: 'meadow',
    words: 'snow snowfall snowy winter spring summer autumn christmas',
    signs: '雪 冬 春 夏 秋',
  },
  {
    name: 'mountains',
    words: 'moon sun sky star stars cloud clouds sunset sunrise dawn dusk aurora thunder storm thunderstorm',
    signs: '天空 云 月亮 星 日落 日出 夕阳',
  },
]

/** Words for snow on the ground and on the peaks, in any palette. */
export const snowWords =
  'snow snowy snowfall snowing winter alps glacier snowman snowmen snow-covered snow-capped ⛄'
export const mistWords = 'mist misty fog foggy haze hazy smoke cloud clouds cloudy'

/** Compounds whose parts must not match: a hot dog is not a dog, a sea lion is not a sea. */
export const excludedCompounds =
  'ice-cream ice-cube ice-cubes fire-hydrant fire-alarm hot-dog hot-dogs sea-lion sea-horse snow-globe snow-leopard space-bar moon-cake mars-bar rain-coat rose-gold guinea-pig bird-house dog-house tree-house sand-castle water-bottle water-color mountain-bike rocking-horse rock-star pop-star film-star movie-star star-wars snow-white star-fish gold-fish cat-walk house-plant train-station bus-stop car-park cloud-computing dragon-fly fish-tank dead-sea fire-place flower-pot horse-power street-food city-girl ocean-girl city-kid sea-food snow-board star-shaped moon-shaped flower-girl bird-seed dog-food cat-food car-seat boat-shoes field-trip park-bench water-park park-ranger'

const colours: Record<string, string> = {
  red: '#d8342c',
  orange: '#f08a2c',
  yellow: '#f6c92f',
  golden: '#e9b53a',
  gold: '#e0ab33',
  green: '#4da255',
  blue: '#2f74c9',
  turquoise: '#2bb5b0',
  teal: '#1f8d8d',
  purple: '#8350b8',
  violet: '#8b5bc9',
  pink: '#f08bb0',
  brown: '#8a5a36',
  black: '#26262c',
  white: '#f6f4ee',
  grey: '#8d9299',
  gray: '#8d9299',
  silver: '#b9c0c8',
  beige: '#dcc7a1',
  ginger: '#e08a3c',
}

/** Colours by name. A map, because a prompt may contain any word, such as "constructor". */
export const colourNames: ReadonlyMap<string, string> = new Map(Object.entries(colours))
