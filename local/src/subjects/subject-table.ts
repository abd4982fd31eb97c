import type { Colour } from '../drawing/colour.ts'
import type { Look } from '../drawing/pen.ts'
import type { Biome } from '../prompt/scene-words.ts'
import { drawBridge, drawCastle, drawHouse, drawLighthouse, drawVillage } from './buildings.ts'
import { drawCow, drawElephant, drawHorse, drawSheep } from './farm-animals.ts'
import {
  drawApple,
  drawBall,
  drawCake,
  drawCup,
  drawTeddy,
  drawUmbrella,
  drawVase,
} from './indoor-objects.ts'
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
  drawPlane,
  drawRocket,
  drawTrain,
  drawTruck,
} from './vehicles.ts'
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
  /** Substrings, for scripts without spaces and for emoji. */
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
    '猫 🐱 🐈',
    [-60, -168, 120, 10],
    ['#e0924a', '#8d9299', '#5b5149'],
    2.4,
    drawCat,
  ),
  dog: walker(
    'dog puppy hound terrier poodle',
    '狗 犬 🐶 🐕',
    [-130, -138, 112, 14],
    ['#b9803f', '#8a5a36', '#d9b88a'],
    drawDog,
  ),
  rabbit: walker('rabbit bunny hare', '兔 🐰 🐇', [-74, -172, 64, 8], ['#b8a08a', '#d9d2c6'], drawRabbit),
  bear: walker('bear', '熊 🐻', [-142, -162, 114, 16], ['#7a5234'], drawBear),
  teddy: {
    ...land('teddy-bear teddy', '🧸', [-74, -182, 74, 10], ['#b57c46'], 2, drawTeddy),
    ...{ home: 'room', stance: 'table' },
  },
  horse: walker(
    'horse pony foal stallion mare unicorn',
    '马 馬 🐴 🐎',
    [-156, -268, 126, 14],
    ['#8a5a36', '#5c4030', '#c9a57a'],
    drawHorse,
  ),
  sheep: { ...land('lamb', '羊 🐑', [-76, -98, 64, 10], ['#f4efe4'], 2, drawSheep), plurals: 'sheep' },
  cow: land('cow', '牛 🐄 🐮', [-126, -176, 120, 14], ['#f5f1e8'], 2, drawCow),
  elephant: { ...walker('elephant', '大象 🐘', [-202, -216, 138, 16], ['#8f959e'], drawElephant) },
  penguin: { ...land('penguin', '企鹅 🐧', [-70, -142, 70, 10], ['#2b2f3a'], 1.4, drawPenguin) },
  bird: {
    words: 'bird robin sparrow gull seagull eagle crane crow raven parrot pigeon hawk swan goose',
    plurals: '',
    ...{ signs: '鸟 鹰 鹤 🐦 🦅 🕊', home: 'meadow', stance: 'sky' },
    ...{ box: [-86, -114, 92, 22], colours: ['#4d7fb8', '#c4553f', '#5e6672'], loop: 0.7, goes: 'always' },
    draw: drawBird,
  },
  flock: {
    words: 'flock',
    plurals: 'birds gulls seagulls geese swallows cranes eagles crows pigeons swans',
    ...{ signs: '', home: 'meadow', stance: 'sky', box: [-18, -64, 126, 58] },
    ...{ colours: ['#30343c'], loop: 0.8, goes: 'always', draw: drawFlock },
  },
  duck: water('duck duckling', '鸭 🦆', [-82, -90, 74, 8], ['#f4d24a', '#8a6a45'], 2, drawDuck),
  owl: {
    ...land('owl', '猫头鹰 🦉', [-108, -140, 108, 14], ['#8a623f'], 2, drawOwl),
    ...{ home: 'forest', stance: 'air' },
  },
  butterfly: {
    ...{ words: 'butterfly', signs: '蝴蝶 🦋', home: 'meadow', stance: 'air', box: [-90, -76, 70, 58] },
    ...{ colours: ['#f08a2c', '#4a86d8', '#c86bb5'], loop: 0.9, goes: 'never', draw: drawButterfly },
  },
  fish: {
    ...{ words: 'fish goldfish clownfish', plurals: 'fish fishes', signs: '鱼 🐟 🐠', home: 'underwater' },
    ...{ stance: 'swim', box: [-72, -54, 100, 48], colours: ['#f08a2c', '#4a86d8', '#e8c23a'], loop: 0.8 },
    ...{ goes: 'always', draw: drawFish },
  },
  turtle: {
    ...{
      words: 'turtle sea-turtle',
      signs: '龟 🐢',
      home: 'underwater',
      stance: 'swim',
      box: [-110, -48, 88, 66],
    },
    ...{ colours: ['#5f7f4a'], loop: 1.8, goes: 'always', draw: drawTurtle },
  },
  whale: water('whale', '鲸 🐋 🐳', [-232, -124, 120, 10], ['#3f5a78'], 2, drawWhale),
  dolphin: water('dolphin', '海豚 🐬', [-120, -154, 134, 44], ['#6f8ba8'], 1.8, drawDolphin),
  car: vehicle(
    'car taxi police-car race-car racing-car sports-car jeep cab',
    '汽车 🚗 🚙',
    [-144, -120, 144, 18],
    ['#d8342c', '#2f74c9', '#f0b429'],
    drawCar,
  ),
  bus: vehicle('bus school-bus', '公交 🚌', [-176, -154, 174, 20], ['#f2b632'], drawBus),
  truck: vehicle('truck lorry van', '卡车 🚚', [-174, -142, 174, 20], ['#d8342c', '#3f7fc4'], drawTruck),
  fireTruck: vehicle('fire-truck fire-engine', '🚒', [-174, -146, 174, 20], ['#d8342c'], drawTruck),
  bicycle: vehicle(
    'bicycle bike',
    '自行车 🚲',
    [-112, -134, 112, 14],
    ['#d8342c', '#2f8f8d'],
    drawBicycle,
    'on-request',
  ),
  train: {
    ...vehicle(
      'train steam-train locomotive toy-train',
      '火车 🚂 🚆',
      [-260, -222, 310, 4],
      ['#2f7d5b', '#b53a34', '#2f5fa8'],
      drawTrain,
    ),
    ...{ stance: 'rails', loop: 0.5 },
  },
  boat: water(
    'boat sailboat ship sailing-boat sailing-ship yacht',
    '船 帆 ⛵ 🚢',
    [-116, -198, 120, 78],
    ['#b5533c', '#2f5f8f', '#8a5a36'],
    2,
    drawBoat,
  ),
  plane: sky(
    'plane airplane aeroplane jet aircraft',
    '飞机 ✈',
    [-146, -64, 164, 84],
    ['#2f74c9', '#d8433a'],
    1,
    'mountains',
    drawPlane,
  ),
  rocket: {
    ...sky(
      'rocket spaceship spacecraft rocket-ship space-rocket',
      '火箭 🚀',
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
      'person man woman lady gentleman farmer grandmother grandfather grandma grandpa mother father mum mom dad king queen hiker runner dancer chef teacher doctor nurse student friend sister brother uncle aunt neighbour',
      '人 🚶 👩 👨 🏃',
      [-72, -208, 86, 10],
      ['#3f74b8', '#c4553f', '#4f8f62'],
      drawPerson,
    ),
    plurals: 'people persons men women ladies gentlemen friends family couple',
  },
  child: {
    ...walker(
      'child kid boy girl toddler princess prince',
      '孩 👧 👦 🧒',
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
      '宇航 太空人 🧑‍🚀 👨‍🚀 👩‍🚀',
      [-80, -196, 74, 14],
      ['#eef2fa'],
      2,
      drawAstronaut,
    ),
    home: 'space',
  },
  house: back(
    'house cottage cabin hut barn home farmhouse',
    '房子 屋 🏠 🏡',
    [-122, -288, 122, 16],
    ['#f0e2c4', '#e8cfae'],
    2.4,
    drawHouse,
  ),
  village: back('village hamlet', '村 🏘', [-302, -318, 262, 10], ['#f0e2c4'], 2.4, drawVillage),
  castle: back('castle palace fortress', '城堡 🏰', [-170, -356, 170, 20], ['#c9c2b4'], 1.4, drawCastle),
  lighthouse: {
    ...back('lighthouse', '灯塔', [-288, -324, 102, 4], ['#d8342c'], 2, drawLighthouse),
    home: 'water',
  },
  bridge: {
    ...{ words: 'bridge', signs: '桥 🌉', home: 'water', stance: 'span', box: [0, -128, 0, 32] },
    ...{ colours: ['#b5a58f'], loop: 0, goes: 'never', draw: drawBridge },
  },
  tree: back(
    'tree apple-tree oak oak-tree pine-tree fir-tree palm-tree palm christmas-tree cherry-tree orange-tree pine',
    '树 🌳 🌴 🎄',
    [-124, -340, 144, 12],
    ['#5a9e4e'],
    2,
    drawTree,
  ),
  flower: {
    ...land(
      'flower daisy tulip sunflower poppy',
      '花朵 🌼 🌻 🌷',
      [-74, -192, 74, 8],
      ['#f6f0e4', '#e8607a', '#f2b632'],
      2.4,
      drawFlower,
    ),
    plurals: 'daisies poppies',
  },
  rose: land('rose', '玫瑰 🌹', [-54, -190, 54, 8], ['#d8243c'], 2.4, drawRose),
  balloon: sky(
    'hot-air-balloon balloon',
    '气球 🎈',
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
  dragon: sky(
    'dragon wyvern',
    '龙 🐉 🐲',
    [-114, -122, 138, 40],
    ['#4f7f5a', '#8f3f4a'],
    1.6,
    'mountains',
    drawDragon,
  ),
  vase: indoor('vase', '花瓶 🏺', [-50, -128, 50, 8], ['#5b8fb8', '#dfe6ea'], 0, drawVase),
  cup: indoor(
    'cup mug teacup cup-of-tea cup-of-coffee',
    '杯 ☕ 🍵',
    [-80, -152, 86, 12],
    ['#f2efe8', '#d8573f'],
    2,
    drawCup,
  ),
  cake: indoor('cake birthday-cake', '蛋糕 🎂', [-116, -186, 116, 14], ['#f4a9c0'], 1.2, drawCake),
  apple: indoor('apple', '苹果 🍎', [-56, -98, 56, 8], ['#d8342c'], 0, drawApple),
  ball: { ...land('ball football', '⚽ 🏀', [-38, -102, 38, 8], ['#2f74c9', '#d8342c'], 0.9, drawBall) },
  umbrella: {
    ...land('umbrella', '伞 ☂ ☔', [-108, -234, 108, 2], ['#d8342c', '#f2b632'], 0, drawUmbrella),
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
