import type { Colour } from '../drawing/colour.ts'
import type { Look } from '../drawing/pen.ts'
import type { Biome } from '../prompt/scene-words.ts'
import { drawBridge, drawCastle, drawHouse, drawLighthouse, drawVillage } from './buildings.ts'
import {
  drawChicken,
  drawCow,
  drawElephant,
  drawGoat,
  drawHorse,
  drawPig,
  drawSheep,
  drawZebra,
} from './farm-animals.ts'
import {
  drawApple,
  drawBall,
  drawCake,
  drawCup,
  drawGuitar,
  drawTeddy,
  drawUmbrella,
  drawVase,
} from './indoor-objects.ts'
import { drawCampfire, drawFireworks } from './lights.ts'
import { drawAstronaut, drawChild, drawPerson, drawRobot, drawSnowman } from './people.ts'
import { drawBear, drawCat, drawDog, drawRabbit } from './pets.ts'
import { drawFlower, drawRose, drawTree } from './plants.ts'
import { drawDolphin, drawTurtle, drawWhale } from './sea-animals.ts'
import {
  drawDragon,
  drawHotAirBalloon,
  drawKite,
  drawLightning,
  drawRainbow,
  drawToyBalloon,
} from './sky-objects.ts'
import {
  drawBicycle,
  drawBoat,
  drawBus,
  drawCar,
  drawHelicopter,
  drawMotorcycle,
  drawPlane,
  drawRocket,
  drawTrain,
  drawTruck,
} from './vehicles.ts'
import {
  drawDeer,
  drawDinosaur,
  drawFox,
  drawFrog,
  drawLion,
  drawMonkey,
  drawPanda,
  drawShark,
  drawTiger,
} from './wild-animals.ts'
import { drawBird, drawButterfly, drawDuck, drawFish, drawFlock, drawOwl, drawPenguin } from './wings.ts'

/**
 * The position of a subject in its scene. `back` is on the ground behind the others, `swim` in the water, `air` close above
 * the ground, `held` in a hand, and `span` across the whole frame.
 */
export type Stance =
  | 'ground'
  | 'back'
  | 'road'
  | 'rails'
  | 'water'
  | 'swim'
  | 'sky'
  | 'air'
  | 'held'
  | 'table'
  | 'span'

export interface Subject {
  /** Nouns in the singular; regular plurals are derived. A hyphen matches a hyphen or a space. */
  words: string
  /** Irregular plurals and plural-only nouns; an empty string if the nouns have no plural. */
  plurals?: string
  /** Words of Chinese and Japanese, and emoji; `man` in `男人=man` is the English word that they stand for. */
  signs: string
  /** Its place if the prompt names none. */
  home: Biome
  stance: Stance
  /** The bounding box of one drawing. */
  box: readonly [left: number, top: number, right: number, bottom: number]
  /** Default colours, if the prompt names none. */
  colours: readonly [Colour, ...Colour[]]
  /** The duration of its animation loop, in seconds; 0 without animation. */
  loop: number
  /** Whether it moves through the scene: always, if the prompt has a verb of motion, or never. */
  goes: 'always' | 'on-request' | 'never'
  draw: (look: Look) => string
}

export const subjects = {
  cat: land(
    'cat kitten kitty tomcat',
    '猫 猫咪 花猫 橘猫 🐱 🐈',
    [-60, -168, 120, 10],
    ['#e0924a', '#8d9299', '#5b5149'],
    2.4,
    drawCat,
  ),
  dog: walker(
    'dog puppy hound terrier poodle',
    '狗 狗狗 犬 柴犬 警犬 金毛 哈士奇 🐶 🐕',
    [-130, -138, 112, 14],
    ['#b9803f', '#8a5a36', '#d9b88a'],
    drawDog,
  ),
  rabbit: walker(
    'rabbit bunny hare',
    '兔 兔子 野兔 🐰 🐇',
    [-74, -172, 64, 8],
    ['#b8a08a', '#d9d2c6'],
    drawRabbit,
  ),
  bear: walker('bear', '熊 棕熊 黑熊 狗熊 北极熊 🐻', [-142, -162, 114, 16], ['#7a5234'], drawBear),
  panda: {
    ...land(
      'panda panda-bear giant-panda',
      '熊猫 大熊猫 🐼',
      [-132, -220, 92, 12],
      ['#f4f1ea'],
      2.4,
      drawPanda,
    ),
    ...{ home: 'forest' },
  },
  tiger: walker('tiger', '老虎 虎 猛虎 🐅 🐯', [-136, -170, 142, 16], ['#e88a2c'], drawTiger),
  lion: walker('lion', '狮子 雄狮 狮 🦁', [-160, -196, 142, 16], ['#d9a54a'], drawLion),
  fox: walker('fox', '狐狸 🦊', [-132, -160, 150, 12], ['#e0762c'], drawFox),
  deer: {
    ...walker(
      'deer stag doe fawn reindeer',
      '鹿 小鹿 梅花鹿 驯鹿 🦌',
      [-160, -282, 126, 16],
      ['#a8743f'],
      drawDeer,
    ),
    ...{ plurals: 'deer', home: 'forest' },
  },
  monkey: {
    ...land(
      'monkey ape chimpanzee',
      '猴子 猴 猿猴 🐒 🐵',
      [-70, -188, 112, 10],
      ['#7a5234'],
      2.4,
      drawMonkey,
    ),
    ...{ home: 'forest' },
  },
  zebra: walker('zebra', '斑马 🦓', [-156, -240, 126, 14], ['#f6f4ee'], drawZebra),
  goat: land('goat', '山羊 🐐', [-126, -178, 92, 10], ['#e9e0d0', '#b59a7a'], 2, drawGoat),
  pig: land('pig piglet', '猪 小猪 🐷 🐖', [-122, -148, 112, 12], ['#f2a9b4'], 2, drawPig),
  chicken: {
    ...land(
      'chicken hen rooster cockerel',
      '鸡 母鸡 公鸡 小鸡 🐔 🐓',
      [-92, -168, 104, 8],
      ['#f4efe4', '#b5603a'],
      1.6,
      drawChicken,
    ),
  },
  frog: land('frog toad', '青蛙 蛙 🐸', [-100, -122, 100, 10], ['#5da24a'], 2, drawFrog),
  dinosaur: walker(
    'dinosaur dino brontosaurus',
    '恐龙 🦕 🦖',
    [-166, -280, 216, 16],
    ['#3f7338', '#3f6478'],
    drawDinosaur,
  ),
  shark: {
    ...{ words: 'shark', signs: '鲨鱼 鲨 🦈', home: 'underwater', stance: 'swim', box: [-158, -92, 160, 76] },
    ...{ colours: ['#6f8496'], loop: 1.1, goes: 'always', draw: drawShark },
  },
  teddy: {
    ...land('teddy-bear teddy', '泰迪熊 玩具熊 毛绒熊 🧸', [-74, -182, 74, 10], ['#b57c46'], 2, drawTeddy),
    ...{ home: 'room', stance: 'table' },
  },
  horse: walker(
    'horse pony foal stallion mare unicorn',
    '马 骏马 马匹 马驹 独角兽=unicorn 🐴 🐎 🦄=unicorn',
    [-156, -268, 126, 14],
    ['#8a5a36', '#5c4030', '#c9a57a'],
    drawHorse,
  ),
  sheep: {
    ...land('lamb', '羊 绵羊 羊群 羔羊 羊羔 🐑', [-76, -98, 64, 10], ['#f4efe4'], 2, drawSheep),
    plurals: 'sheep',
  },
  cow: land('cow', '牛 奶牛 母牛 水牛 黄牛 牛群 🐄 🐮', [-126, -176, 120, 14], ['#f5f1e8'], 2, drawCow),
  elephant: { ...walker('elephant', '大象 小象 象 🐘', [-202, -216, 138, 16], ['#8f959e'], drawElephant) },
  penguin: { ...land('penguin', '企鹅 🐧', [-70, -142, 70, 10], ['#2b2f3a'], 1.4, drawPenguin) },
  bird: {
    words: 'bird robin sparrow gull seagull eagle crane crow raven parrot pigeon hawk swan goose',
    plurals: '',
    ...{
      signs: '鸟 小鸟 飞鸟 鹰 老鹰 雄鹰 鹤 仙鹤 白鹤 丹顶鹤 海鸥 鸽子 麻雀 燕子 鹦鹉 天鹅 乌鸦 🐦 🦅 🕊 🦜 🦢',
      home: 'meadow',
      stance: 'sky',
    },
    ...{ box: [-86, -114, 92, 22], colours: ['#4d7fb8', '#c4553f', '#5e6672'], loop: 0.7, goes: 'always' },
    draw: drawBird,
  },
  flock: {
    words: 'flock',
    plurals: 'birds gulls seagulls geese swallows cranes eagles crows pigeons swans',
    ...{ signs: '鸟群 雁群', home: 'meadow', stance: 'sky', box: [-18, -64, 126, 58] },
    ...{ colours: ['#30343c'], loop: 0.8, goes: 'always', draw: drawFlock },
  },
  duck: water('duck duckling', '鸭 鸭子 小鸭 🦆', [-82, -90, 74, 8], ['#f4d24a', '#8a6a45'], 2, drawDuck),
  owl: {
    ...land('owl', '猫头鹰 🦉', [-108, -140, 108, 14], ['#8a623f'], 2, drawOwl),
    ...{ home: 'forest', stance: 'air' },
  },
  butterfly: {
    ...{ words: 'butterfly', signs: '蝴蝶 🦋', home: 'meadow', stance: 'air', box: [-90, -76, 70, 58] },
    ...{ colours: ['#f08a2c', '#4a86d8', '#c86bb5'], loop: 0.9, goes: 'never', draw: drawButterfly },
  },
  fish: {
    ...{
      words: 'fish goldfish clownfish',
      plurals: 'fish fishes',
      signs: '鱼 金鱼 小丑鱼 鱼群 鲤鱼 锦鲤 🐟 🐠',
      home: 'underwater',
    },
    ...{ stance: 'swim', box: [-72, -54, 100, 48], colours: ['#f08a2c', '#4a86d8', '#e8c23a'], loop: 0.8 },
    ...{ goes: 'always', draw: drawFish },
  },
  turtle: {
    ...{
      words: 'turtle sea-turtle',
      signs: '龟 乌龟 海龟 🐢',
      home: 'underwater',
      stance: 'swim',
      box: [-110, -48, 88, 66],
    },
    ...{ colours: ['#5f7f4a'], loop: 1.8, goes: 'always', draw: drawTurtle },
  },
  whale: water('whale', '鲸 鲸鱼 蓝鲸 座头鲸 🐋 🐳', [-232, -124, 120, 10], ['#3f5a78'], 2, drawWhale),
  dolphin: water('dolphin', '海豚 🐬', [-120, -154, 134, 44], ['#6f8ba8'], 1.8, drawDolphin),
  car: vehicle(
    'car taxi police-car race-car racing-car sports-car jeep cab',
    '汽车 小汽车 轿车 跑车 赛车 出租车 警车 车 小车 吉普车 🚗 🚙 🚕',
    [-144, -120, 144, 18],
    ['#d8342c', '#2f74c9', '#f0b429'],
    drawCar,
  ),
  bus: vehicle(
    'bus school-bus',
    '公交车 公交 巴士 校车 大巴 公共汽车 🚌',
    [-176, -154, 174, 20],
    ['#f2b632'],
    drawBus,
  ),
  truck: vehicle('truck lorry van', '卡车 货车 🚚', [-174, -142, 174, 20], ['#d8342c', '#3f7fc4'], drawTruck),
  fireTruck: vehicle('fire-truck fire-engine', '消防车 🚒', [-174, -146, 174, 20], ['#d8342c'], drawTruck),
  bicycle: vehicle(
    'bicycle bike',
    '自行车 单车 脚踏车 🚲',
    [-112, -134, 112, 14],
    ['#d8342c', '#2f8f8d'],
    drawBicycle,
    'on-request',
  ),
  train: {
    ...vehicle(
      'train steam-train locomotive toy-train',
      '火车 列车 高铁 地铁 蒸汽火车 动车 🚂 🚆',
      [-260, -222, 310, 4],
      ['#2f7d5b', '#b53a34', '#2f5fa8'],
      drawTrain,
    ),
    ...{ stance: 'rails', loop: 0.5 },
  },
  motorcycle: vehicle(
    'motorcycle motorbike scooter',
    '摩托车 摩托 🏍 🛵',
    [-126, -148, 136, 14],
    ['#c4342c', '#2f5fa8'],
    drawMotorcycle,
  ),
  helicopter: sky(
    'helicopter',
    '直升机 🚁',
    [-162, -100, 220, 66],
    ['#d8433a', '#2f74c9'],
    0.3,
    'mountains',
    drawHelicopter,
  ),
  boat: water(
    'boat sailboat ship sailing-boat sailing-ship yacht',
    '船 帆船 小船 轮船 渔船 游船 邮轮 游艇 木船 帆 ⛵ 🚢',
    [-116, -198, 120, 78],
    ['#b5533c', '#2f5f8f', '#8a5a36'],
    2,
    drawBoat,
  ),
  plane: sky(
    'plane airplane aeroplane jet aircraft',
    '飞机 客机 ✈',
    [-146, -64, 164, 84],
    ['#2f74c9', '#d8433a'],
    1,
    'mountains',
    drawPlane,
  ),
  rocket: {
    ...sky(
      'rocket spaceship spacecraft rocket-ship space-rocket',
      '火箭 宇宙飞船 飞船 太空船 🚀',
      [-76, -262, 76, 82],
      ['#d8342c'],
      0.5,
      'space',
      drawRocket,
    ),
    goes: 'never',
  },
  person: {
    ...walker(
      'person man woman lady gentleman farmer grandmother grandfather grandma grandpa mother father mum mom dad king queen hiker runner dancer chef teacher doctor nurse student friend sister brother uncle aunt neighbour cowboy firefighter policeman policewoman soldier singer painter artist worker athlete tourist fisherman girlfriend boyfriend wife husband guy',
      '人 人们 男人=man 女人=woman 老人=grandfather 男子=man 女子=woman 女士=lady 先生=gentleman 美女=woman 帅哥=man 姑娘=woman 妈妈=mother 爸爸=father 母亲=mother 父亲=father 爷爷=grandfather 奶奶=grandmother 外婆=grandmother 外公=grandfather 老爷爷=grandfather 老奶奶=grandmother 老师=teacher 学生=student 医生=doctor 护士=nurse 厨师=chef 农民=farmer 工人=man 警察=man 渔夫=man 牛仔=man 国王=king 王后=queen 女王=queen 舞者=dancer 行人 路人 情侣 夫妻 一家人 朋友 🚶 👩=woman 👨=man 🏃 👴=grandfather 👵=grandmother',
      [-72, -208, 86, 10],
      ['#3f74b8', '#c4553f', '#4f8f62'],
      drawPerson,
    ),
    plurals: 'people persons men women ladies gentlemen friends family couple',
  },
  child: {
    ...walker(
      'child kid boy girl toddler princess prince',
      '孩 孩子 小孩 儿童 女孩=girl 男孩=boy 小女孩=girl 小男孩=boy 少女=girl 少年=boy 男童=boy 女童=girl 宝宝 公主=princess 王子=prince 👧=girl 👦=boy 🧒',
      [-52, -156, 62, 10],
      ['#d8483f', '#2f74c9', '#e8a530'],
      drawChild,
    ),
    plurals: 'children kids',
  },
  robot: {
    ...walker('robot android', '机器人 ロボット 🤖', [-96, -262, 124, 10], ['#9aa6b4', '#6f95b8'], drawRobot),
    home: 'city',
  },
  snowman: {
    ...land('snowman', '雪人 ⛄', [-108, -248, 108, 10], ['#d8342c'], 2, drawSnowman),
    plurals: 'snowmen',
  },
  astronaut: {
    ...land(
      'astronaut cosmonaut spaceman',
      '宇航员 太空人 航天员 🧑‍🚀 👨‍🚀 👩‍🚀',
      [-80, -196, 74, 14],
      ['#eef2fa'],
      2,
      drawAstronaut,
    ),
    home: 'space',
  },
  house: back(
    'house cottage cabin hut barn home farmhouse',
    '房子 房屋 小屋 木屋 屋 农舍 🏠 🏡',
    [-122, -288, 122, 16],
    ['#f0e2c4', '#e8cfae'],
    2.4,
    drawHouse,
  ),
  village: back(
    'village hamlet',
    '村 村庄 村子 村落 山村 小镇 🏘',
    [-302, -318, 262, 10],
    ['#f0e2c4'],
    2.4,
    drawVillage,
  ),
  castle: back(
    'castle palace fortress',
    '城堡 宫殿 皇宫 🏰',
    [-170, -356, 170, 20],
    ['#c9c2b4'],
    1.4,
    drawCastle,
  ),
  lighthouse: {
    ...back('lighthouse', '灯塔', [-288, -324, 102, 4], ['#d8342c'], 2, drawLighthouse),
    home: 'water',
  },
  bridge: {
    ...{
      words: 'bridge',
      signs: '桥 大桥 石桥 木桥 小桥 桥梁 🌉',
      home: 'water',
      stance: 'span',
      box: [0, -128, 0, 32],
    },
    ...{ colours: ['#b5a58f'], loop: 0, goes: 'never', draw: drawBridge },
  },
  tree: back(
    'tree apple-tree oak oak-tree pine-tree fir-tree palm-tree palm christmas-tree cherry-tree orange-tree pine',
    '树 大树 树木 松树=pine-tree 苹果树=apple-tree 圣诞树=christmas-tree 棕榈树=palm-tree 椰子树=palm-tree 柳树 橡树=oak 🌳 🌴=palm-tree 🎄=christmas-tree',
    [-124, -340, 144, 12],
    ['#5a9e4e'],
    2,
    drawTree,
  ),
  flower: {
    ...land(
      'flower daisy tulip sunflower poppy',
      '花 花朵 鲜花 花儿 向日葵=sunflower 郁金香=tulip 雏菊=daisy 🌼 🌻=sunflower 🌷=tulip',
      [-74, -192, 74, 8],
      ['#f6f0e4', '#e8607a', '#f2b632'],
      2.4,
      drawFlower,
    ),
    plurals: 'daisies poppies',
  },
  rose: land('rose', '玫瑰 玫瑰花 🌹', [-54, -190, 54, 8], ['#d8243c'], 2.4, drawRose),
  balloon: sky(
    'hot-air-balloon balloon',
    '热气球=hot-air-balloon 气球 🎈',
    [-60, -78, 60, 100],
    ['#e4572e', '#f2a541', '#3aa7a3', '#d1495b'],
    1,
    'meadow',
    drawHotAirBalloon,
    'never',
  ),
  toyBalloon: {
    ...sky(
      'toy-balloon party-balloon',
      '',
      [-58, -264, 58, 4],
      ['#d8342c', '#2f74c9', '#f2b632'],
      2.6,
      'meadow',
      drawToyBalloon,
      'never',
    ),
    stance: 'held',
  },
  kite: sky(
    'kite',
    '风筝 🪁',
    [-156, -78, 110, 256],
    ['#d8433a', '#2f74c9'],
    1.6,
    'meadow',
    drawKite,
    'never',
  ),
  rainbow: {
    ...{ words: 'rainbow', signs: '彩虹 🌈', home: 'meadow', stance: 'span', box: [0, -470, 0, 4] },
    ...{ colours: ['#ffffff'], loop: 0, goes: 'never', draw: drawRainbow },
  },
  lightning: {
    ...{ words: 'lightning lightning-bolt thunderbolt', plurals: '', signs: '闪电 ⚡', home: 'mountains' },
    ...{ stance: 'sky', box: [-96, -352, 68, 22], colours: ['#ffffff'], loop: 2, goes: 'never' },
    draw: drawLightning,
  },
  fireworks: {
    ...{
      words: 'fireworks firework',
      plurals: '',
      signs: '烟花 烟火 焰火 🎆 🎇',
      home: 'city',
      stance: 'sky',
    },
    ...{ box: [-232, -174, 222, 188], colours: ['#ff6a8a', '#ff8a4a'], loop: 2.4, goes: 'never' },
    draw: drawFireworks,
  },
  campfire: {
    ...land('campfire bonfire', '篝火 营火', [-160, -224, 160, 44], ['#ff7a2c'], 1.2, drawCampfire),
    ...{ home: 'forest' },
  },
  dragon: sky(
    'dragon wyvern',
    '龙 巨龙 飞龙 神龙 🐉 🐲',
    [-114, -122, 138, 40],
    ['#4f7f5a', '#8f3f4a'],
    1.6,
    'mountains',
    drawDragon,
  ),
  vase: indoor('vase', '花瓶 🏺', [-50, -128, 50, 8], ['#5b8fb8', '#dfe6ea'], 0, drawVase),
  cup: indoor(
    'cup mug teacup cup-of-tea cup-of-coffee',
    '杯 杯子 茶杯 咖啡杯 马克杯 咖啡 ☕ 🍵',
    [-80, -152, 86, 12],
    ['#f2efe8', '#d8573f'],
    2,
    drawCup,
  ),
  cake: indoor(
    'cake birthday-cake',
    '蛋糕 生日蛋糕 🎂 🍰',
    [-116, -186, 116, 14],
    ['#f4a9c0'],
    1.2,
    drawCake,
  ),
  apple: indoor('apple', '苹果 🍎', [-56, -98, 56, 8], ['#d8342c'], 0, drawApple),
  guitar: {
    ...land('guitar', '吉他 🎸', [-80, -310, 96, 10], ['#c47a36', '#b5442c'], 1, drawGuitar),
    ...{ home: 'room' },
  },
  ball: {
    ...land(
      'ball football',
      '球 皮球 足球 篮球 ⚽ 🏀',
      [-38, -102, 38, 8],
      ['#2f74c9', '#d8342c'],
      0.9,
      drawBall,
    ),
  },
  umbrella: {
    ...land(
      'umbrella',
      '伞 雨伞 红伞 油纸伞 ☂ ☔',
      [-108, -234, 108, 2],
      ['#d8342c', '#f2b632'],
      0,
      drawUmbrella,
    ),
    stance: 'held',
  },
} satisfies Record<string, Subject>

export type SubjectName = keyof typeof subjects

type Box = Subject['box']
type Colours = Subject['colours']

/** A subject that stands in a meadow by default. */
function land(
  words: string,
  signs: string,
  box: Box,
  colours: Colours,
  loop: number,
  draw: Subject['draw'],
): Subject {
  return { words, signs, box, colours, loop, draw, home: 'meadow', stance: 'ground', goes: 'never' }
}

function walker(words: string, signs: string, box: Box, colours: Colours, draw: Subject['draw']): Subject {
  return { ...land(words, signs, box, colours, 0.8, draw), goes: 'on-request' }
}

function back(
  words: string,
  signs: string,
  box: Box,
  colours: Colours,
  loop: number,
  draw: Subject['draw'],
): Subject {
  return { ...land(words, signs, box, colours, loop, draw), stance: 'back' }
}

function vehicle(
  words: string,
  signs: string,
  box: Box,
  colours: Colours,
  draw: Subject['draw'],
  goes: Subject['goes'] = 'always',
): Subject {
  return { ...land(words, signs, box, colours, 0.34, draw), stance: 'road', goes }
}

function water(
  words: string,
  signs: string,
  box: Box,
  colours: Colours,
  loop: number,
  draw: Subject['draw'],
): Subject {
  return { ...land(words, signs, box, colours, loop, draw), home: 'water', stance: 'water' }
}

function indoor(
  words: string,
  signs: string,
  box: Box,
  colours: Colours,
  loop: number,
  draw: Subject['draw'],
): Subject {
  return { ...land(words, signs, box, colours, loop, draw), home: 'room', stance: 'table' }
}

function sky(
  words: string,
  signs: string,
  box: Box,
  colours: Colours,
  loop: number,
  home: Biome,
  draw: Subject['draw'],
  goes: Subject['goes'] = 'always',
): Subject {
  return { words, signs, box, colours, loop, home, draw, goes, stance: 'sky' }
}
