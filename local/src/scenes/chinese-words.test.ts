import { expect, test } from 'vitest'

import { readScene } from './read-scene.ts'

/** Chinese words by the subject that they must give. Many contain the character of another subject. */
const words: Record<string, string> = {
  cat: '猫 小猫 猫咪 黑猫 白猫 花猫 貓',
  dog: '狗 小狗 狗狗 黄狗 柴犬 警犬 哈士奇',
  rabbit: '兔子 小兔 白兔 野兔',
  bear: '熊 棕熊 北极熊 狗熊',
  teddy: '泰迪熊 玩具熊',
  horse: '马 白马 骏马 小马 馬 独角兽',
  sheep: '羊 绵羊 羊群 小羊',
  cow: '牛 奶牛 水牛 黄牛',
  elephant: '大象 小象',
  penguin: '企鹅',
  bird: '鸟 小鸟 鸟儿 老鹰 仙鹤 海鸥 鸽子 天鹅',
  duck: '鸭子 小鸭',
  owl: '猫头鹰',
  butterfly: '蝴蝶',
  fish: '鱼 金鱼 鱼群 小丑鱼',
  turtle: '乌龟 海龟',
  whale: '鲸鱼 蓝鲸',
  dolphin: '海豚',
  car: '汽车 小汽车 跑车 出租车 警车',
  bus: '公交车 校车',
  truck: '卡车',
  fireTruck: '消防车',
  bicycle: '自行车',
  train: '火车 列车 高铁',
  boat: '船 帆船 小船 渔船',
  plane: '飞机',
  rocket: '火箭 宇宙飞船',
  person: '人 男人 女人 老人 人们 工人 牛仔 妈妈 爷爷 厨师',
  child: '孩子 女孩 小男孩 孩子们',
  robot: '机器人',
  snowman: '雪人',
  astronaut: '宇航员 太空人',
  house: '房子 小屋 木屋',
  village: '村庄 山村',
  castle: '城堡',
  lighthouse: '灯塔',
  bridge: '桥 石桥 大桥',
  tree: '树 大树 松树 苹果树 圣诞树',
  flower: '花 鲜花 向日葵 红花',
  rose: '玫瑰 玫瑰花',
  balloon: '热气球 气球',
  kite: '风筝',
  rainbow: '彩虹',
  lightning: '闪电',
  dragon: '龙 巨龙 飞龙 龍',
  vase: '花瓶',
  cup: '杯子 茶杯 马克杯',
  cake: '蛋糕 生日蛋糕',
  apple: '苹果',
  ball: '足球 皮球',
  umbrella: '伞 雨伞',
  panda: '熊猫 大熊猫',
  tiger: '老虎',
  lion: '狮子',
  fox: '狐狸',
  deer: '小鹿 梅花鹿',
  monkey: '猴子',
  zebra: '斑马',
  goat: '山羊',
  pig: '小猪',
  chicken: '公鸡 母鸡',
  frog: '青蛙',
  dinosaur: '恐龙',
  shark: '鲨鱼',
  motorcycle: '摩托车',
  helicopter: '直升机',
  fireworks: '烟花',
  campfire: '篝火',
  guitar: '吉他',
  none:
    '河马 海马 羚羊 热狗 海狗 犀牛 蜗牛 变色龙 龙虾 鳄鱼 章鱼 鱿鱼 美人鱼 ' +
    '马路 斑马线 马上 马桶 马车 马拉松 马铃薯 木马 牛奶 牛肉 牛排 牛仔裤 羊毛 羊肉 狗粮 猫粮 鱼缸 鱼汤 钓鱼 烤鸭 鸟巢 龙卷风 水龙头 ' +
    '人工智能 人类 人行道 世界杯 奖杯 火车站 汽车站 飞机场 苹果汁 苹果手机 花生 棉花 爆米花 牵牛花 树叶 树懒 船长 村长 地球 帆布 书屋 ' +
    '冰箱 海报 星期 明星 秋千 青春 洋葱 谷歌 火锅 月饼 炎热 咖啡店 键盘 电脑 会议 音乐 面条',
}

const listed = Object.entries(words).flatMap(([subject, list]) =>
  list.split(' ').map((word) => [word, subject] as const),
)

test('there are at least two hundred words, each once', () => {
  expect(listed.length).toBeGreaterThanOrEqual(200)
  expect(new Set(listed.map(([word]) => word)).size).toBe(listed.length)
})

test.each(listed)('%s gives %s', (word, subject) => {
  const named = (prompt: string) => readScene(prompt).subjects.map(({ name }) => name)
  const expected = subject === 'none' ? [] : [subject]
  expect(named(word)).toEqual(expected)
  // Between other words, it must not be split or joined in another way.
  expect(named(`这里有一个${word}，很漂亮`)).toEqual(expected)
})

test.each(listed.filter(([, subject]) => subject === 'none'))('%s gives no scenery', (word) => {
  expect(readScene(word)).toMatchObject(
    word === '马路' || word === '斑马线'
      ? { biome: 'city', palette: undefined, weather: undefined }
      : { biome: undefined, palette: undefined, weather: undefined, snow: false, mist: false },
  )
})

test.each<[string, string | undefined, string]>([
  ['两只猫和一只狗在花园里', 'meadow', '2 cat, dog'],
  ['一辆红色的汽车和一座蓝色的房子', 'meadow', 'red car, blue house'],
  ['一个穿红色外套的女孩', 'meadow', 'red child'],
  ['草地上有三只小羊', 'meadow', '3 sheep'],
  ['一群鸟飞过大海', 'water', '4 bird'],
  ['没有人的街道', 'city', ''],
  ['斑马线上的行人', 'city', 'person'],
  ['樱花树下的情侣', 'meadow', '2 person'],
  ['一家人在公园野餐', 'meadow', '3 person'],
  ['海边的灯塔', 'water', 'lighthouse'],
  ['雨中的城市', 'city', ''],
  ['雪山上的龙', 'mountains', 'dragon'],
  ['一隻貓在樹下', 'meadow', 'cat, tree'],
])('%s', (prompt, setting, subjects) => {
  const { biome, subjects: found } = readScene(prompt)
  const english = new Map([
    ['#d8342c', 'red '],
    ['#2f74c9', 'blue '],
  ])
  const shown = found.map(
    ({ name, count, colours }) =>
      `${count === 1 ? '' : `${count} `}${colours.map((colour) => english.get(colour)).join('')}${name}`,
  )
  expect([biome, shown.join(', ')]).toEqual([setting, subjects])
})
