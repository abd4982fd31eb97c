/**
 * Splits Chinese and Japanese text, which has no spaces, into words. A sign of the tables counts only as a whole word: there
 * is no cat in 熊猫 (panda) and no mountain in 山羊 (goat).
 */

const segmenter = new Intl.Segmenter('zh', { granularity: 'word' })

/** Written together with a noun, but words of their own: sizes, ages, colours, numbers, measure words, and "there is". */
const prefixes = new Set(
  '小大老幼高胖瘦新旧古巨红橙黄绿蓝青紫粉棕褐黑白灰银金一二两三四五六七八九十几只条匹头个位名群对双棵朵辆艘架座列把有',
)
/** Written behind a noun: plural, diminutive, and where something is in relation to it. */
const suffixes = new Set('儿们里上下中前后边旁内外的')

/** Behind a noun, these make a word for something else: 火车站 is a station and 鱼缸 a tank. */
const boundSuffixes = new Set(
  '站场店票厂库棚缸粮展馆桶袋箱衣服鞋帽包肉奶油皮汤排粉汁派酱酒茶糖饼器道轨毛角尾爪骨圈窝笼食具饰纹形节年',
)

/** Compounds that are not what a part of them says, as far as the dictionary of the segmenter lacks them. */
const otherCompounds = new Set(
  (
    '热狗 马上 马路 马桶 马车 马克杯 马拉松 马戏团 马铃薯 木马 旋转木马 海马 河马 牛仔裤 牛仔布 牛奶 牛油果 牛角包 牵牛花 蜗牛 犀牛 ' +
    '海狗 狗尾草 猫眼 美人鱼 章鱼 鱿鱼 鳄鱼 鲍鱼 变色龙 龙虾 小龙虾 龙卷风 水龙头 龙头 乌龙茶 鸟巢 烤鸭 鸭舌帽 羚羊 羊毛衫 熊市 牛市 ' +
    '人工智能 人工 人间 人生 人类 人民币 人行道 人参 别人 主人 人才 人物 世界杯 奖杯 杯垫 书屋 屋檐 树莓 树懒 树枝 树叶 桥牌 桥梁 ' +
    '雪碧 雪茄 雪糕 花生 花椒 花样 花费 棉花 爆米花 火花 火锅 火腿 火柴 火龙果 冰箱 冰淇淋 冰激凌 海报 海带 海鲜 海关 海绵 海底捞 ' +
    '上海 海南 山药 山楂 谷歌 谷物 峰会 星期 明星 星座 星巴克 月饼 雨衣 雷达 秋千 青春 春节 夏威夷 炎热 街舞 洋葱 洋娃娃 河南 河北 ' +
    '苹果手机 苹果电脑 床单 帆布 帆布鞋 船长 村长 夜宵'
  ).split(' '),
)

/** Traditional and Japanese characters of the tables, and their simplified form. */
const traditional =
  '貓猫馬马鳥鸟魚鱼龍龙鴨鸭鷹鹰鶴鹤樹树橋桥龜龟鯨鲸車车機机飛飞氣气風风雲云電电閃闪紅红藍蓝綠绿黃黄銀银隻只個个輛辆條条頭头們们裡里裏里邊边樓楼島岛雞鸡豬猪獅狮蘋苹傘伞兩两雙双場场燈灯園园長长媽妈爺爷師师學学熱热騎骑櫻樱桜樱間间書书無无沒没羣群鵝鹅陽阳懷怀舊旧復复調调霧雾葉叶楓枫灘滩灣湾夢梦'
const simplified = new Map<string, string>()
for (let at = 0; at < traditional.length; at += 2) simplified.set(traditional[at]!, traditional[at + 1]!)

const longestWord = 6

/** Splits a run of Chinese or Japanese characters. `signs` are the words of the tables. */
export function splitChinese(text: string, signs: ReadonlySet<string>): string[] {
  const run = Array.from(text, (sign) => simplified.get(sign) ?? sign).join('')
  const words: string[] = []
  let at = 0
  for (const { segment, index } of segmenter.segment(run)) {
    const end = index + segment.length
    if (end <= at) continue
    const listed = longestListed(run, at, end, signs)
    const parts = listed === undefined ? splitSegment(run.slice(at, end), signs) : [listed]
    words.push(...parts)
    at = listed === undefined ? end : at + listed.length
  }
  return joinCompounds(words, signs)
}

/** The longest word of the tables that starts here and does not end within the segment. */
function longestListed(run: string, at: number, end: number, signs: ReadonlySet<string>): string | undefined {
  for (let length = Math.min(longestWord, run.length - at); at + length >= end && length > 0; length--) {
    const word = run.slice(at, at + length)
    if (signs.has(word) || otherCompounds.has(word)) return word
  }
  return undefined
}

/** Separates a word of the tables from what is written together with it: 小狗 is a small dog. Other segments stay whole. */
function splitSegment(segment: string, signs: ReadonlySet<string>): string[] {
  const signsOf = Array.from(segment)
  for (let length = signsOf.length; length >= 0; length--) {
    for (let start = 0; start + length <= signsOf.length; start++) {
      const before = signsOf.slice(0, start)
      const core = signsOf.slice(start, start + length).join('')
      const after = signsOf.slice(start + length)
      if (length > 0 && !signs.has(core)) continue
      if (before.every((sign) => prefixes.has(sign)) && after.every((sign) => suffixes.has(sign))) {
        return [...before, ...(length > 0 ? [core] : []), ...after]
      }
    }
  }
  return [segment]
}

function joinCompounds(words: string[], signs: ReadonlySet<string>): string[] {
  const joined: string[] = []
  for (const word of words) {
    const previous = joined.at(-1)
    if (boundSuffixes.has(word) && previous !== undefined && signs.has(previous)) {
      joined[joined.length - 1] = previous + word
    } else joined.push(word)
  }
  return joined
}
