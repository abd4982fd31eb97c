import type { Colour } from '../drawing/colour.ts'
import type { PaletteName } from '../drawing/palette.ts'
import { endsPhrase, isDeterminer, isNoun, numberOf, type Word } from '../prompt/grammar.ts'
import {
  biomeRules,
  colourNames,
  furnitureRules,
  mistRule,
  openAirRules,
  excludedCompounds,
  paletteRules,
  snowRule,
  weatherRules,
  type Biome,
  type Furniture,
  type Rule,
  type WeatherName,
} from '../prompt/scene-words.ts'
import { splitWords, type Vocabulary } from '../prompt/split-words.ts'
import { findTreatment, treatmentWords, type Treatment } from '../prompt/treatment.ts'
import { subjects, type Subject, type SubjectName } from '../subjects/subject-table.ts'

/** A subject that the prompt names, with its attributes. */
export interface NamedSubject {
  name: SubjectName
  /** Its word in the prompt, in the singular if there is one. */
  word: string
  count: number
  colours: Colour[]
  /** Whether it moves through the scene. */
  going: boolean
}

export interface SceneReading {
  /** The named place, or the home of a named subject. */
  biome: Biome | undefined
  /** The furniture that subjects stand or lie on in a room. */
  furniture: Furniture | undefined
  subjects: NamedSubject[]
  palette: PaletteName | undefined
  /** Whether the prompt names the light, season or place of that palette, and not only a subject that implies it. */
  namesLight: boolean
  treatment: Treatment | undefined
  /** Whether the prompt is about a place, light or weather, and not about a thing there. */
  isScenic: boolean
  /** The first colour that the prompt names, in English or Chinese. */
  colourName: string | undefined
  weather: WeatherName | undefined
  snow: boolean
  mist: boolean
}

/** More subjects would not fit next to each other. */
const subjectsMax = 3
const countMax = 5

interface Noun {
  name: SubjectName
  word: string
  plural: boolean
}

const nouns = nounIndex()

export function readScene(prompt: string): SceneReading {
  const words = splitWords(prompt, vocabulary)
  const known = new Set(
    words
      .filter((_, at) => isNoun(words, at) && !isNegated(words, at) && !isContent(words, at))
      .map((word) => word.text),
  )
  const mentioned = (rule: Mentionable) => wordsOf(rule).filter((word) => known.has(word)).length
  const place = mostMentioned(biomeRules, mentioned, (rule) => firstMention(rule, words))
  const named = namedSubjects(words, known)
  const biome = place ?? homeOf(named) ?? openAirRules.find((rule) => mentioned(rule) > 0)?.name
  const swims = named.some(({ name }) => subjects[name].stance === 'swim')
  return {
    // Swimming animals need an underwater scene.
    biome: biome === 'water' && swims ? 'underwater' : biome,
    furniture: furnitureRules.find((rule) => mentioned(rule) > 0)?.name,
    // The scenery of a forest already has trees.
    subjects: biome === 'forest' ? named.filter(({ name }) => name !== 'tree') : named,
    palette: paletteRules.find((rule) => mentioned(rule) > 0)?.name,
    namesLight: paletteRules.some((rule) =>
      wordsOf(rule).some((word) => known.has(word) && !nouns.has(word)),
    ),
    treatment: findTreatment(words, 'prompt', (word) => nouns.has(word)),
    isScenic: isScenic(words),
    colourName: words.find(({ text }) => colourNames.has(text))?.text,
    weather: weatherRules.find((rule) => mentioned(rule) > 0)?.name,
    snow: mentioned(snowRule) > 0,
    mist: mentioned(mistRule) > 0,
  }
}

/** Whether the text contains any of the words, as any part of speech. */
export function mentions(text: string, list: string): boolean {
  const words = new Set(splitWords(text, vocabulary).map((word) => word.text))
  return list.split(' ').some((word) => words.has(word))
}

/** Words for the film itself, as in "an aerial shot of a lake". */
const viewWords = new Set(
  'shot view scene video clip film footage timelapse time-lapse aerial drone close-up closeup panorama photo picture image animation cinematic slow motion 航拍 镜头 视频 画面 延时 延时摄影'.split(
    ' ',
  ),
)

/** Whether the first phrase names scenery: true for "a quiet lake at dawn", not for "a violinist by a lake". */
function isScenic(words: Word[]): boolean {
  let phrase: string[] = []
  for (const { text } of words) {
    const ends = endsPhrase(text)
    if (ends && phrase.length > 0) break
    // In Chinese the noun comes after 的: 夜晚的城市 is a city at night.
    if (text === '的') phrase = []
    else if (!ends && !viewWords.has(text)) phrase.push(text)
  }
  return phrase.some((word) => sceneryWords.has(word))
}

/** The treatment that a style names. */
export function readStyle(style: string): Treatment | undefined {
  return findTreatment(splitWords(style, vocabulary), 'style', () => false)
}

type Mentionable = Pick<Rule<string>, 'words' | 'signs'>

function wordsOf({ words, signs }: Mentionable): string[] {
  return `${words} ${signs}`.split(' ')
}

/** The rule with the most matches; of equal ones, the one that matches first in the prompt. */
function mostMentioned<Name extends string>(
  rules: Rule<Name>[],
  mentioned: (rule: Rule<Name>) => number,
  firstAt: (rule: Rule<Name>) => number,
): Name | undefined {
  const matching = rules
    .map((rule) => ({ name: rule.name, count: mentioned(rule), at: firstAt(rule) }))
    .filter(({ count }) => count > 0)
  return matching.toSorted((one, other) => other.count - one.count || one.at - other.at)[0]?.name
}

function firstMention(rule: Mentionable, words: Word[]): number {
  const listed = new Set(wordsOf(rule))
  return words.findIndex(({ text }) => listed.has(text))
}

function homeOf(named: NamedSubject[]): Biome | undefined {
  const homes = named.map(({ name }) => subjects[name].home)
  // A meadow fits every subject, so a subject with another home decides.
  return homes.find((home) => home !== 'meadow') ?? homes[0]
}

function namedSubjects(words: Word[], known: ReadonlySet<string>): NamedSubject[] {
  const found: NamedSubject[] = []
  const add = (subject: NamedSubject) => {
    if (found.length < subjectsMax && !found.some(({ name }) => name === subject.name)) found.push(subject)
  }
  const moving = words.some((word) => motionWords.has(word.text))
  const isParked = words.some(({ text: word }) => word === 'parked' || word === '停在')
  for (const [at, { text: word }] of words.entries()) {
    if (found.length === subjectsMax && !groups.has(word)) continue
    const noun = nouns.get(word)
    const family = groups.get(word)
    const previous = nouns.get(words[at - 1]?.text ?? '')?.name
    const member = found.find(({ name }) => name === previous)
    if (family !== undefined && member !== undefined) {
      member.count = family
      continue
    }
    if (noun === undefined || !known.has(word) || !isNoun(words, at) || isNegated(words, at)) continue
    add({
      name: noun.name,
      word: noun.word,
      count: family ?? countOf(words, at, noun),
      colours: coloursOf(words, at),
      going: goes(subjects[noun.name], moving, isParked),
    })
  }
  return withToys(found)
}

/** A balloon next to a person is a toy balloon; alone it is a hot-air balloon. */
function withToys(found: NamedSubject[]): NamedSubject[] {
  const hasHands = found.some(
    ({ name }) => name === 'child' || name === 'person' || name === 'teddy' || name === 'cake',
  )
  return found.map((subject) =>
    subject.name === 'balloon' && subject.word === 'balloon' && hasHands
      ? { ...subject, name: 'toyBalloon' }
      : subject,
  )
}

/** Group words: "a penguin family" is three penguins and no people, and "a couple" alone is two people. */
const groups = new Map([
  ['family', 3],
  ['couple', 2],
  ['一家人', 3],
  ['情侣', 2],
  ['夫妻', 2],
])

const motionWords = new Set(
  'walk walks walking run runs running jog jogs jogging gallop gallops galloping trot trots trotting ride rides riding cross crosses crossing march marches marching hike hikes hiking stroll strolls strolling hop hops hopping chase chases chasing race races racing 跑 奔跑 跑步 走 走在 行走 散步 骑 奔驰 飞奔 追 追逐 徒步 跑过 走过 穿过 驶过'.split(
    ' ',
  ),
)

function goes(subject: Subject, moving: boolean, isParked: boolean): boolean {
  if (subject.goes === 'always') return !isParked
  return subject.goes === 'on-request' && moving
}

/** Whether the word is the content of a container: "a glass of water" is not a lake. */
function isContent(words: Word[], at: number): boolean {
  return words[at - 1]?.text === 'of' && containers.has(words[at - 2]?.text ?? '')
}

const containers = new Set('glass bottle cup bowl jug bucket drop sip can tank'.split(' '))

const negations = new Set('no without 没有 没 无 不要'.split(' '))

/** Whether the word is negated: "no cars", "without a car". */
function isNegated(words: Word[], at: number): boolean {
  for (let index = at - 1; index >= Math.max(0, at - 3); index--) {
    const { text } = words[index]!
    if (negations.has(text)) return true
    if (nouns.has(text) || (endsPhrase(text) && !isDeterminer(text))) return false
  }
  return false
}

/** The words of a noun phrase before its noun, nearest first. */
function phraseBefore(words: Word[], at: number): string[] {
  const phrase: string[] = []
  for (let index = at - 1; index >= 0 && phrase.length < 5; index--) {
    const { text } = words[index]!
    // "Red and blue balloons" is one phrase.
    const joins =
      (text === 'and' || text === ',') &&
      colourNames.has(words[index - 1]?.text ?? '') &&
      colourNames.has(words[index + 1]?.text ?? '')
    if (joins) continue
    if (nouns.has(text) || (endsPhrase(text) && numberOf(text) === undefined && !counters.has(text))) break
    phrase.push(text)
  }
  return phrase
}

const counters = new Map([
  ['some', 3],
  ['several', 4],
  ['few', 3],
  ['many', 5],
  ['both', 2],
  ['群', 4],
  ['几', 3],
  ['些', 3],
  ['一些', 3],
  ['许多', 5],
  ['很多', 5],
  ['对', 2],
  ['双', 2],
])

function countOf(words: Word[], at: number, noun: Noun): number {
  for (const text of phraseBefore(words, at)) {
    const count = numberOf(text) ?? counters.get(text)
    if (count !== undefined) return Math.max(1, Math.min(countMax, count))
  }
  // The Chinese plural of people.
  if (words[at + 1]?.text === '们') return 3
  if (!noun.plural) return 1
  // "A fish" is singular, although the plural has the same form.
  return /^(?:an?|this)$/.test(words[at - phraseBefore(words, at).length - 1]?.text ?? '') &&
    noun.word === 'fish'
    ? 1
    : 3
}

const clothing = new Set('coat dress shirt jacket hat scarf raincoat sweater cloak trousers skirt'.split(' '))

function coloursNamed(text: string): Colour[] {
  return (compoundColours.get(text) ?? [text]).flatMap((name) => colourNames.get(name) ?? [])
}

/** Compounds of colours, nearest to the noun first. */
const compoundColours = new Map([
  ['black-and-white', ['white', 'black']],
  ['黑白', ['white', 'black']],
  ['黑白色', ['white', 'black']],
])

function coloursOf(words: Word[], at: number): Colour[] {
  const before = phraseBefore(words, at).flatMap(coloursNamed)
  if (before.length > 0) return before.toReversed()
  return predicateColour(words, at) ?? clothesColour(words, at) ?? []
}

/** The colour in "the car is red" or "a car that is red". */
function predicateColour(words: Word[], at: number): Colour[] | undefined {
  const next = words[at + 1]?.text === 'that' ? at + 2 : at + 1
  if (!/^(?:is|are|was|were)$/.test(words[next]?.text ?? '')) return undefined
  const colours = coloursNamed(words[next + 1]?.text ?? '')
  const after = words[next + 2]?.text
  return colours.length > 0 && (after === undefined || endsPhrase(after)) ? colours.toReversed() : undefined
}

/** The colour of clothing in "a girl in a red coat" or "a snowman with a red scarf". */
function clothesColour(words: Word[], at: number): Colour[] | undefined {
  for (let index = at + 1; index < Math.min(words.length, at + 7); index++) {
    const { text } = words[index]!
    if (nouns.has(text)) return undefined
    if (!clothing.has(text)) continue
    const colours = phraseBefore(words, index).flatMap(coloursNamed)
    return colours.length > 0 ? colours : undefined
  }
  return undefined
}

function nounIndex(): Map<string, Noun> {
  const index = new Map<string, Noun>()
  for (const [name, subject] of Object.entries(subjects) as [SubjectName, Subject][]) {
    const words = subject.words.split(' ')
    for (const word of words) {
      index.set(word, { name, word, plural: false })
      if (subject.plurals !== '') index.set(pluralOf(word), { name, word, plural: true })
    }
    for (const plural of (subject.plurals ?? '').split(' ')) {
      if (plural !== '') index.set(plural, { name, word: plural, plural: name !== 'flock' })
    }
    for (const sign of subject.signs.split(' ')) {
      const [text, word = words[0]!] = sign.split('=')
      if (text !== undefined && text !== '') index.set(text, { name, word, plural: false })
    }
  }
  return index
}

function pluralOf(word: string): string {
  if (/[^aeiou]y$/.test(word)) return `${word.slice(0, -1)}ies`
  return /(?:s|x|z|ch|sh)$/.test(word) ? `${word}es` : `${word}s`
}

const sceneryWords: ReadonlySet<string> = new Set(
  [...paletteRules, ...biomeRules, ...openAirRules, ...weatherRules, snowRule, mistRule].flatMap(wordsOf),
)

function collectVocabulary(): Vocabulary {
  const words = [
    ...[...excludedCompounds.split(' '), ...treatmentWords],
    ...[...nouns.keys(), ...colourNames.keys(), ...counters.keys(), ...motionWords, ...negations],
    ...[...sceneryWords, ...furnitureRules.flatMap(wordsOf), ...viewWords],
  ]
  return {
    compounds: new Set(words.filter((word) => word.includes('-'))),
    signs: new Set(words.filter((word) => /\P{ASCII}/u.test(word))),
  }
}

const vocabulary = collectVocabulary()
