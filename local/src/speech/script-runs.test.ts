import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import { describe, expect, test } from 'vitest'

import { splitScripts } from './script-runs.ts'
import { spokenText } from './spoken-text.ts'

/** How espeak-ng pronounces each of the texts. */
async function phonemes(language: string, texts: string[]): Promise<string[]> {
  const running = promisify(execFile)('espeak-ng', ['-q', '--ipa', '-b', '1', '-v', language, '--stdin'])
  running.child.stdin!.end(texts.map((text) => `${text}\n\n`).join(''))
  const lines = (await running).stdout.split('\n')
  return texts.map((_, place) => lines[place]!.replaceAll(/[ˈˌ\s]/gu, ''))
}

/** The word that a voice says before the code of an unknown letter, "letter" in most languages. */
async function wordForLetter(language: string): Promise<string> {
  const [one = '', other = ''] = await phonemes(language, ['ភ', 'ខ'])
  let length = 0
  while (length < one.length && one[length] === other[length]) length++
  return one.slice(0, Math.min(length, 4))
}

function runsOf(text: string): [language: string, text: string][] {
  const split = splitScripts(spokenText(text))
  if ('refusal' in split) throw new Error(split.refusal)
  return split.runs.map((run) => [run.language ?? 'own', run.text])
}

describe('a text in another script is spoken in a language written in it, and never spelled out', () => {
  test.each([
    ['cmn-latn-pinyin', '你好，世界！今天天气很好，我们去公园散步。繁體中文'],
    ['ja', 'こんにちは。ファイルをひらいてください、ちょっとパーティーへいきます。'],
    ['ko', '안녕하세요, 오늘 날씨가 정말 좋습니다.'],
    ['ru', 'Сегодня хорошая погода, и мы ещё успеем на поезд.'],
    ['uk', 'Сьогодні гарна погода, їдемо до моря з ґанку.'],
    ['be', 'Сёння добрае надвор’е, ідзём у парк разам з ўнукам.'],
    ['sr', 'Данас је лепо време, идемо на љуљашку.'],
    ['mk', 'Денес времето е убаво, ќе одиме на ѓердан.'],
    ['kk', 'Бүгін ауа райы жақсы, қаланы аралаймыз, әже.'],
    ['el', 'Καλημέρα, σήμερα ο καιρός είναι ωραίος.'],
    ['he', 'שלום, היום מזג האוויר יפה.'],
    ['ar', 'مرحبا، الطقس جميل اليوم.'],
    ['fa', 'سلام، امروز هوا خیلی خوب است، چای می‌خوریم.'],
    ['ur', 'آپ کیسے ہیں، آج موسم بہت اچھا ہے۔'],
    ['hi', 'नमस्ते, आज मौसम बहुत अच्छा है।'],
    ['bn', 'আজ আবহাওয়া খুব ভালো।'],
    ['as', 'আজি বতৰ ভাল।'],
    ['pa', 'ਅੱਜ ਮੌਸਮ ਬਹੁਤ ਚੰਗਾ ਹੈ।'],
    ['gu', 'આજે હવામાન સારું છે.'],
    ['or', 'ଆଜି ପାଗ ଭଲ ଅଛି।'],
    ['ta', 'இன்று வானிலை நன்றாக உள்ளது.'],
    ['te', 'ఈరోజు వాతావరణం బాగుంది.'],
    ['kn', 'ಇಂದು ಹವಾಮಾನ ಚೆನ್ನಾಗಿದೆ.'],
    ['ml', 'ഇന്ന് കാലാവസ്ഥ നല്ലതാണ്.'],
    ['si', 'අද කාලගුණය හොඳයි.'],
    ['ka', 'დღეს კარგი ამინდია.'],
    ['hy', 'Այսօր եղանակը լավ է։'],
    ['am', 'ዛሬ አየሩ ጥሩ ነው።'],
  ])('%s', async (language, text) => {
    const runs = runsOf(text)
    expect(runs.map(([each]) => each)).toEqual([language])
    const words = runs[0]![1].split(/[\s,.!，。！、،؛।۔:։።]+/u).filter((word) => word !== '')
    const spoken = await phonemes(language, words)
    const spelled = await wordForLetter(language)
    expect(spelled).not.toBe('')
    for (const [place, sounds] of spoken.entries()) {
      expect(sounds, words[place]).not.toBe('')
      expect(sounds, words[place]).not.toContain('(en')
      if (words[place]!.length > 1) expect(sounds, words[place]).not.toContain(spelled)
    }
  })
})

test('each script of a mixed text has its own voice, and punctuation and digits stay with their neighbours', () => {
  expect(runsOf('She said “你好” and 3 friends answered: Привет, мир! Then 5 more.')).toEqual([
    ['own', 'She said'],
    ['cmn-latn-pinyin', ' “你好”'],
    ['own', ' and 3 friends answered:'],
    ['ru', ' Привет, мир!'],
    ['own', ' Then 5 more.'],
  ])
  expect(runsOf('2024年3月')).toEqual([['cmn-latn-pinyin', '2024年3月']])
  expect(runsOf('42!')).toEqual([['own', '42!']])
})

test('Latin letters of any style and accent are read as letters of words', async () => {
  const text = 'Tiếng Việt, 𝗯𝗼𝗹𝗱 ｗｉｄｅ ﬁne Ⅳ Erdoğan Kadıköy Łódź ơ ư'
  const [[language, plain] = ['', '']] = runsOf(text)
  expect(language).toBe('own')
  const words = plain.split(/[\s,]+/u)
  const spelled = await wordForLetter('en-us')
  expect(spelled).not.toBe('')
  expect((await phonemes('en-us', words)).filter((sounds) => sounds.includes(spelled))).toEqual([])
})

test.each([
  ['Thai', 'Hello สวัสดี', /Thai letters \("ส"\)/u],
  ['Khmer', 'ភាសាខ្មែរ', /Khmer/u],
  ['Burmese', 'မင်္ဂလာပါ', /Myanmar/u],
  ['kanji', '東京へいきます', /Kanji cannot be spoken.*kana/u],
  ['rare letters', 'Хӏанз', /Cyrillic letters \("ӏ"\)/u],
  ['a letter of no voice', 'ɓala', /Latin letters \("ɓ"\)/u],
])('%s is rejected with a plain message', (_name, text, message) => {
  expect(splitScripts(spokenText(text))).toEqual({ refusal: expect.stringMatching(message) as string })
})

test('a text that changes its alphabet too often is rejected instead of starting thousands of processes', () => {
  expect(splitScripts('aб'.repeat(100))).toHaveProperty('runs.length', 200)
  expect(splitScripts('aб'.repeat(2048))).toEqual({
    refusal: expect.stringContaining('more than 200 times. Send it in several requests'),
  })
})

test('a unit of measure does not change the voice, and no letter expands to a sentence', () => {
  expect(splitScripts(spokenText('a film of 5 µm'))).toEqual({
    runs: [{ text: 'a film of 5 µm', language: undefined }],
  })
  expect(spokenText('ﷺ'.repeat(10))).toHaveLength(10)
})
