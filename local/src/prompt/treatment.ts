import { endsPhrase, isBreak, type Word } from './grammar.ts'

/** A change of all colours of a film, whatever it shows. */
export type Treatment = 'noir' | 'sepia' | 'blackAndWhite' | 'pastel' | 'vivid' | 'warm' | 'cool'

interface TreatmentRule {
  name: Treatment
  /** Words that always ask for it. */
  words: string
  /** Words that may also describe a thing ("a vintage car"). They ask for it in a style, or as the look of the film. */
  ambiguous: string
}

// The first matching rule wins, so "sepia film noir" is noir.
const treatmentRules: TreatmentRule[] = [
  { name: 'noir', words: 'noir film-noir neo-noir 黑色电影 黑色影片', ambiguous: '' },
  {
    name: 'sepia',
    words: 'sepia sepia-tone sepia-toned 棕褐色调 褐色调 棕色调 泛黄 老照片 老电影',
    ambiguous: 'vintage retro nostalgic nostalgia old-fashioned old 复古 怀旧 棕褐色 深褐色',
  },
  {
    name: 'blackAndWhite',
    words:
      'monochrome monochromatic grayscale greyscale b-&-w bw 黑白片 黑白照 黑白照片 黑白电影 黑白影片 黑白风格 黑白色调 单色 灰度',
    ambiguous: 'black-and-white 黑白 黑白色',
  },
  {
    name: 'pastel',
    words: 'desaturated 低饱和',
    ambiguous: 'pastel watercolor watercolour soft softer dreamy muted 粉彩 水彩 柔和 淡雅',
  },
  {
    name: 'vivid',
    words: 'saturated 高饱和',
    ambiguous: 'anime comic cartoon vivid vibrant colorful colourful pop neon 鲜艳 动漫 卡通',
  },
  { name: 'warm', words: '暖色调 暖色', ambiguous: 'warm warmer golden 温暖 暖' },
  { name: 'cool', words: '冷色调 冷色', ambiguous: 'cool cooler cold colder blue bluish 冷' },
]

/** Compounds and signs of the rules, for the vocabulary. */
export const treatmentWords: string[] = treatmentRules.flatMap(({ words, ambiguous }) =>
  `${words} ${ambiguous}`.split(' ').filter((word) => word !== ''),
)

const set = (text: string): ReadonlySet<string> => new Set(text.split(' '))

/** Words for the film itself: "a vintage photo", 怀旧风格. */
const filmWords = set(
  'film movie photo photograph photography picture image video footage style look version scene shot clip cinema filter tone tones colour color colours colors effect aesthetic grading palette vibe 电影 照片 影像 画面 风格 色调 视频 影片 镜头 滤镜 质感 效果 摄影 版 氛围 调',
)
/** Too common for other things: "a girl in blue", "make it cool". */
const onlyOfFilms = set('blue golden cool cold old soft pop neon')
/** Before the look of the film: "in black and white", "make it warmer", 变成黑白. */
const leads = set(
  'in into to it this everything all completely entirely fully totally more 变成 改成 改为 变为 换成 成 用 以 为',
)
/** Behind 黑白 ("black and white"), for the pattern of a thing. */
const patterns = set('相 相间 条纹 花纹 分明 斑点 斑纹')

/** The treatment that a prompt or a style asks for. `isThing` tells whether a word names a subject. */
export function findTreatment(
  words: Word[],
  source: 'prompt' | 'style',
  isThing: (word: string) => boolean,
): Treatment | undefined {
  return treatmentRules.find((rule) => {
    const always = new Set(rule.words.split(' '))
    const ambiguous = new Set(rule.ambiguous.split(' '))
    return words.some(
      ({ text }, at) =>
        (always.has(text) || (ambiguous.has(text) && (source === 'style' || isLook(words, at, isThing)))) &&
        !isRefused(words, at),
    )
  })?.name
}

function isLook(words: Word[], at: number, isThing: (word: string) => boolean): boolean {
  const next = words[words[at + 1]?.text === '的' ? at + 2 : at + 1]?.text
  const before = words[at - 1]?.text
  if (next !== undefined && filmWords.has(next)) return true
  if (onlyOfFilms.has(words[at]!.text)) return false
  if (words[at]!.text.startsWith('黑白')) return next === undefined || !(isThing(next) || patterns.has(next))
  const isLast = next === undefined || endsPhrase(next)
  if (before !== undefined && leads.has(before)) return isLast
  // As in a list of keywords: "a street, black and white, rain".
  return (before === undefined || isBreak(before)) && (next === undefined || isBreak(next))
}

const refusals = set('no not without never 不 不要 没有 别')

/** Whether it is refused: "not in black and white". */
function isRefused(words: Word[], at: number): boolean {
  return [1, 2].some((distance) => refusals.has(words[at - distance]?.text ?? ''))
}
