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
  /** Words of Chinese and Japanese, and emoji. */
  signs: string
}

// The first matching rule wins, so rarer and more specific rules come first.
export const paletteRules: Rule<PaletteName>[] = [
  {
    name: 'neon',
    words: 'neon cyber cyberpunk synthwave vaporwave futuristic',
    signs: '霓虹 霓虹灯 赛博 赛博朋克 未来感 ネオン',
  },
  {
    name: 'deep',
    words: 'underwater under-the-sea under-water reef coral aquarium seabed bottom-of-the-sea',
    signs: '水下 海底 水族馆 珊瑚 珊瑚礁',
  },
  {
    name: 'ember',
    words: 'lava volcano volcanic flame flames ember embers inferno wildfire bonfire',
    signs: '火山 熔岩 岩浆 火焰 烈火 🌋 🔥',
  },
  {
    name: 'night',
    words:
      'night nights nighttime darkness star stars starry moon on-the-moon moonlight moonlit midnight space galaxy cosmos cosmic nebula planet planets astronaut astronauts aurora northern-lights bedtime firework fireworks campfire campfires',
    signs:
      '夜 夜晚 夜空 夜色 夜景 夜里 黑夜 深夜 午夜 半夜 晚上 今晚 星 星星 星空 星光 星夜 月光 月亮 月夜 明月 月下 月球 太空 宇宙 银河 极光 烟花 烟火 焰火 篝火 🌙 🌃 ⭐',
  },
  {
    name: 'sunset',
    words: 'sunset sunsets dusk evening twilight golden-hour',
    signs: '日落 落日 夕阳 黄昏 傍晚 晚霞 夕日 🌅 🌇',
  },
  {
    name: 'dawn',
    words: 'dawn sunrise morning daybreak',
    signs: '日出 黎明 清晨 早晨 早上 晨光 晨雾 拂晓 朝阳 朝霞 🌄',
  },
  {
    name: 'ice',
    words:
      'snow snowy snowfall snowman snowmen snow-covered snow-capped ice icy winter frost frozen arctic glacier glaciers antarctic iceberg penguin penguins christmas sledge sled',
    signs:
      '雪 雪地 雪山 雪人 雪花 雪景 下雪 飘雪 大雪 积雪 冰 冰雪 冰川 冰山 冰原 结冰 冬 冬天 冬季 冬日 寒冬 圣诞 圣诞节 北极 南极 ⛄ ❄',
  },
  {
    name: 'autumn',
    words: 'autumn autumnal october november maple maples harvest foliage fall-leaves',
    signs: '秋 秋天 秋季 秋日 秋叶 金秋 深秋 枫叶 枫树 枫林 🍁 🍂',
  },
  {
    name: 'blossom',
    words: 'blossom blossoms blooming sakura petal petals cherry-tree cherry-trees',
    signs: '樱花 樱花树 樱 花瓣 桃花 🌸',
  },
  {
    name: 'storm',
    words:
      'storm stormy rain rainy raining thunder thunderstorm lightning lightning-bolt drizzle monsoon gloomy overcast',
    signs: '雨 雨天 雨中 雨夜 下雨 大雨 暴雨 雨水 雷雨 雨季 暴风 暴风雨 雷 雷电 打雷 阴天 乌云 闪电 ⛈ 🌧 ⚡',
  },
  {
    name: 'desert',
    words: 'desert deserts dune dunes canyon savanna savannah sahara camel camels mars',
    signs: '沙漠 沙丘 戈壁 大漠 峡谷 骆驼 火星 🏜',
  },
  {
    name: 'forest',
    words: 'forest forests jungle wood woods woodland moss bamboo rainforest',
    signs: '森林 树林 丛林 山林 林间 林中 雨林 竹林 松林 林子 林 森 🌲',
  },
  {
    name: 'day',
    words: 'day daytime sunny summer spring noon afternoon sunshine',
    signs: '春 春天 春季 春日 夏 夏天 夏季 夏日 白天 晴天 阳光 中午 下午 ☀',
  },
]

// The rule with the most matches wins; of equal ones, the one that matches first in the prompt.
export const biomeRules: Rule<Biome>[] = [
  { name: 'moon', words: 'on-the-moon lunar moon-landing', signs: '月球 月球表面 月面' },
  { name: 'mars', words: 'mars red-planet martian', signs: '火星' },
  {
    name: 'space',
    words:
      'space galaxy galaxies planet planets cosmos cosmic nebula orbit asteroid saturn jupiter outer-space',
    signs: '太空 宇宙 银河 银河系 行星 星球 土星 木星 星系 星云 外太空 🪐 🌌',
  },
  {
    name: 'underwater',
    words: 'underwater under-the-sea under-water reef coral aquarium seabed bottom-of-the-sea',
    signs: '水下 海底 水族馆 珊瑚 珊瑚礁',
  },
  {
    name: 'city',
    words:
      'city cities street streets skyline building buildings skyscraper skyscrapers tokyo paris london new-york downtown town urban traffic rooftop',
    signs:
      '城市 都市 街 街道 街头 大街 小巷 霓虹 霓虹灯 大楼 高楼 摩天大楼 楼顶 天台 赛博 赛博朋克 市中心 上海 北京 东京 巴黎 伦敦 纽约 香港 马路 斑马线 🏙 🌃',
  },
  {
    name: 'water',
    words:
      'ocean oceans sea seas beach beaches wave waves lake river stream pond water island islands harbor harbour coast shore seaside bay waterfall ocean-waves',
    signs:
      '海 大海 海洋 海边 海滩 海面 海浪 海岸 海水 海上 海湾 沙滩 湖 湖泊 湖面 湖边 湖水 河 河流 河边 小河 河畔 江 江边 溪 小溪 溪流 池塘 岛 岛屿 小岛 海岛 港口 码头 瀑布 波浪 浪花 水面 水边 🌊 🏖',
  },
  {
    name: 'forest',
    words: 'forest forests jungle wood woods woodland pines bamboo rainforest',
    signs: '森林 树林 丛林 山林 林间 林中 雨林 竹林 松林 林子 林 森 🌲',
  },
  {
    name: 'dunes',
    words: 'desert deserts dune dunes sand sands sahara pyramid pyramids',
    signs: '沙漠 沙丘 大漠 戈壁 金字塔 🏜',
  },
  {
    name: 'mountains',
    words: 'mountain mountains valley canyon volcano alps peak peaks summit glacier cliff cliffs himalayas',
    signs: '山 山上 山顶 山谷 山峰 山脉 山间 山里 山中 山林 高山 大山 雪山 群山 火山 峡谷 悬崖 谷 峰 ⛰ 🏔',
  },
  {
    name: 'meadow',
    words:
      'garden gardens meadow meadows field fields park parks lawn grass farm countryside hill hills backyard yard playground pasture prairie road path lane savanna savannah country-road orchard outside zoo',
    signs:
      '花园 草地 草原 公园 田 田野 稻田 麦田 农田 田间 农场 牧场 花海 花丛 山坡 草坪 院子 乡间 乡村 动物园 果园 操场 小路 公路',
  },
  {
    name: 'room',
    words:
      'room bedroom kitchen living-room classroom bathroom indoors table desk sofa couch bed shelf armchair library windowsill at-home floor rug carpet fireplace vase vases',
    signs:
      '房间 厨房 客厅 卧室 教室 浴室 室内 书房 图书馆 桌 桌上 桌子 书桌 餐桌 沙发 床 床上 窗台 窗台上 地板 壁炉 屋里 家里 🛋 🛏',
  },
]

export type Furniture = 'table' | 'bed' | 'sofa' | 'floor'

export const furnitureRules: Rule<Furniture>[] = [
  { name: 'bed', words: 'bed bedroom bunk pillow', signs: '床 床上 卧室 🛏' },
  { name: 'sofa', words: 'sofa couch armchair', signs: '沙发 🛋' },
  { name: 'floor', words: 'floor rug carpet', signs: '地板' },
  { name: 'table', words: 'table desk windowsill shelf', signs: '桌 桌上 桌子 书桌 餐桌 窗台 窗台上' },
]

// The first matching rule wins.
export const weatherRules: Rule<WeatherName>[] = [
  {
    name: 'snow',
    words:
      'snow snowy snowfall snowing snowstorm snowflake snowflakes winter blizzard christmas snowman snowmen',
    signs: '雪 雪花 雪人 下雪 飘雪 大雪 雪景 雪地 冬 冬天 冬季 冬日 寒冬 圣诞 圣诞节 ❄ ⛄',
  },
  {
    name: 'rain',
    words: 'rain rainy raining rainfall storm stormy thunderstorm downpour drizzle monsoon lightning',
    signs: '雨 雨天 雨中 雨夜 下雨 大雨 暴雨 雷雨 暴风雨 🌧 ⛈',
  },
  {
    name: 'embers',
    words:
      'ember embers fire fires flame flames lava volcano volcanic spark sparks campfire bonfire inferno burning',
    signs: '火 烈火 大火 火焰 火山 熔岩 岩浆 篝火 🔥 🌋',
  },
  {
    name: 'petals',
    words: 'petal petals blossom blossoms sakura confetti',
    signs: '花瓣 樱花 樱花树 樱 桃花 🌸',
  },
  {
    name: 'leaves',
    words: 'autumn autumnal leaves maple foliage october november',
    signs: '落叶 枫叶 枫树 枫林 秋 秋天 秋季 秋日 秋叶 金秋 深秋 🍂 🍁',
  },
  {
    name: 'bubbles',
    words: 'underwater under-the-sea bubble bubbles coral reef aquarium submarine',
    signs: '水下 海底 气泡 泡泡 水族馆 珊瑚 珊瑚礁',
  },
  {
    name: 'motes',
    words:
      'firefly fireflies magic magical enchanted fairy sparkle sparkles sparkling glitter dreamy glowing',
    signs: '萤火虫 魔法 梦幻 仙境 ✨',
  },
]

/** The place if a prompt mentions only the sky or the season. */
export const openAirRules: Rule<Biome>[] = [
  {
    name: 'meadow',
    words: 'snow snowfall snowy winter spring summer autumn christmas',
    signs: '雪 雪地 雪景 下雪 大雪 冬 冬天 冬季 春 春天 春季 夏 夏天 夏季 秋 秋天 秋季',
  },
  {
    name: 'mountains',
    words:
      'moon sun sky star stars cloud clouds sunset sunrise dawn dusk aurora northern-lights thunder storm thunderstorm',
    signs: '天空 蓝天 云 白云 云海 云朵 月亮 明月 星 星星 星空 夜空 日落 落日 日出 夕阳 晚霞 极光 雷电 太阳',
  },
]

/** Snow on the ground and on the peaks, in any palette. */
export const snowRule = {
  words: 'snow snowy snowfall snowing winter alps glacier snowman snowmen snow-covered snow-capped',
  signs: '雪 雪地 雪山 雪人 雪景 下雪 飘雪 大雪 积雪 冰雪 冬 冬天 冬季 冬日 ⛄ ❄',
}
export const mistRule = {
  words: 'mist misty fog foggy haze hazy smoke cloud clouds cloudy',
  signs: '雾 云 云海 薄雾 晨雾 烟雾',
}

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

/** The Chinese names, each also with 色 ("colour") behind it. */
const chineseColours: Record<string, string> = {
  ...{
    红: 'red',
    橙: 'orange',
    黄: 'yellow',
    金: 'golden',
    绿: 'green',
    蓝: 'blue',
    青: 'teal',
    紫: 'purple',
  },
  ...{
    粉: 'pink',
    粉红: 'pink',
    棕: 'brown',
    褐: 'brown',
    黑: 'black',
    白: 'white',
    灰: 'grey',
    银: 'silver',
  },
}

/** Colours by name. A map, because a prompt may contain any word, such as "constructor". */
export const colourNames: ReadonlyMap<string, string> = new Map([
  ...Object.entries(colours),
  ...Object.entries(chineseColours).flatMap(([name, english]) => [
    [name, colours[english]!] as const,
    [`${name}色`, colours[english]!] as const,
  ]),
])
