import type { Colour } from '../drawing/colour.ts'
import type { PaletteName } from '../drawing/palette.ts'
import { endsPhrase, isDeterminer, isNoun, numberOf, type Word } from '../prompt/grammar.ts'
import {
  biomeRules,
  colourNames,
  furnitureRules,
  mistWords,
  openAirRules,
  otherThings,
  paletteRules,
  snowWords,
  weatherRules,
  type Biome,
  type Furniture,
  type Rule,
  type WeatherName,
} from '../prompt/scene-words.ts'
import { splitWords, withoutHandles } from '../prompt/split-words.ts'
import { subjects, type Subject, type SubjectName } from '../subjects/subject-table.ts'

/** A thing the prompt names, and what it says about it. */
export interface NamedSubject {
  name: SubjectName
  /** The word it was named by, in the singular where there is one. */
  word: string
  count: number
  colours: Colour[]
  /** Whether it moves along. */
  going: boolean
}

export interface SceneReading {
  /** The place that is named, or the home of the first thing that is. */
  biome: Biome | undefined
  /** What things stand or lie on in a room. */
  furniture: Furniture | undefined
  subjects: NamedSubject[]
  palette: PaletteName | undefined
  weather: WeatherName | undefined
  snow: boolean
  mist: boolean
}

/** More would not fit beside each other. */
const mostSubjects = 3
const mostOfAKind = 5

interface Entry {
  name: SubjectName
  word: string
  plural: boolean
}

const nouns = nounIndex()
const compounds = compoundSet()

export function readScene(prompt: string): SceneReading {
  const text = withoutHandles(prompt)
  const words = splitWords(prompt, compounds)
  const known = new Set(
    words
      .filter((_, at) => isNoun(words, at) && !isDenied(words, at) && !isContent(words, at))
      .map((word) => word.text),
  )
  const mentioned = (rule: { words: string; signs: string }) => matchCount(rule, text, known)
  const place = mostMentioned(biomeRules, mentioned, (rule) => firstMention(rule, text, words))
  const named = namedSubjects(text, words, known)
  const biome = place ?? homeOf(named) ?? openAirRules.find((rule) => mentioned(rule) > 0)?.name
  const swims = named.some(({ name }) => subjects[name].stance === 'swim')
  return {
    // Fish are seen where they live, not in the air over the sea.
    biome: biome === 'water' && swims ? 'underwater' : biome,
    furniture: furnitureRules.find((rule) => mentioned(rule) > 0)?.name,
    // A forest has trees enough.
    subjects: biome === 'forest' ? named.filter(({ name }) => name !== 'tree') : named,
    palette: paletteRules.find((rule) => mentioned(rule) > 0)?.name,
    weather: weatherRules.find((rule) => mentioned(rule) > 0)?.name,
    snow: mentioned({ words: snowWords, signs: '雪 ⛄ ❄' }) > 0,
    mist: mentioned({ words: mistWords, signs: '雾' }) > 0,
  }
}

/** Whether any of the words is in the text, whatever part of speech it is. */
export function mentions(text: string, list: string): boolean {
  const words = new Set(splitWords(text, compounds).map((word) => word.text))
  return list.split(' ').some((word) => words.has(word))
}

function matchCount(
  rule: { words: string; signs: string },
  text: string,
  known: ReadonlySet<string>,
): number {
  return (
    rule.words.split(' ').filter((word) => known.has(word)).length +
    rule.signs.split(' ').filter((sign) => sign !== '' && text.includes(sign)).length
  )
}

/** The rule with most matches, and of those that are even the one that comes first in the prompt. */
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

function firstMention(rule: { words: string; signs: string }, text: string, words: Word[]): number {
  const listed = new Set(rule.words.split(' '))
  const word = words.findIndex(({ text: word }) => listed.has(word))
  if (word !== -1) return word
  const places = rule.signs.split(' ').map((sign) => text.indexOf(sign))
  return Math.min(...places.filter((place) => place !== -1))
}

function homeOf(named: NamedSubject[]): Biome | undefined {
  const homes = named.map(({ name }) => subjects[name].home)
  // A meadow takes everybody in; whoever lives elsewhere decides.
  return homes.find((home) => home !== 'meadow') ?? homes[0]
}

function namedSubjects(text: string, words: Word[], known: ReadonlySet<string>): NamedSubject[] {
  const found: NamedSubject[] = []
  const add = (subject: NamedSubject) => {
    if (found.length < mostSubjects && !found.some(({ name }) => name === subject.name)) found.push(subject)
  }
  const moving = words.some((word) => motionWords.has(word.text))
  const isParked = words.some(({ text: word }) => word === 'parked')
  for (const [at, { text: word }] of words.entries()) {
    if (found.length === mostSubjects && !groups.has(word)) continue
    const entry = nouns.get(word)
    const family = groups.get(word)
    const previous = nouns.get(words[at - 1]?.text ?? '')?.name
    const member = found.find(({ name }) => name === previous)
    if (family !== undefined && member !== undefined) {
      member.count = family
      continue
    }
    if (entry === undefined || !known.has(word) || !isNoun(words, at) || isDenied(words, at)) continue
    add({
      name: entry.name,
      word: entry.word,
      count: countOf(words, at, entry),
      colours: coloursOf(words, at),
      going: goes(subjects[entry.name], moving, isParked),
    })
  }
  for (const [name, subject] of Object.entries(subjects) as [SubjectName, Subject][]) {
    if (subject.signs.split(' ').some((sign) => sign !== '' && text.includes(sign))) {
      const word = subject.words.split(' ')[0]!
      add({ name, word, count: 1, colours: [], going: goes(subject, moving, isParked) })
    }
  }
  return withToys(found)
}

/** A balloon beside a child is held on a string; alone it carries a basket. */
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

/** "A penguin family" is three penguins and no people. */
const groups = new Map([
  ['family', 3],
  ['couple', 2],
])

const motionWords = new Set(
  'walk walks walking run runs running jog jogs jogging gallop gallops galloping trot trots trotting ride rides riding cross crosses crossing march marches marching hike hikes hiking stroll strolls strolling hop hops hopping chase chases chasing race races racing'.split(
    ' ',
  ),
)

function goes(subject: Subject, moving: boolean, isParked: boolean): boolean {
  if (subject.goes === 'always') return !isParked
  return subject.goes === 'asked' && moving
}

/** "A glass of water" is no lake. */
function isContent(words: Word[], at: number): boolean {
  return words[at - 1]?.text === 'of' && containers.has(words[at - 2]?.text ?? '')
}

const containers = new Set('glass bottle cup bowl jug bucket drop sip can tank'.split(' '))

/** "No cars", "without a car". */
function isDenied(words: Word[], at: number): boolean {
  for (let index = at - 1; index >= Math.max(0, at - 3); index--) {
    const { text } = words[index]!
    if (text === 'no' || text === 'without') return true
    if (endsPhrase(text) && !isDeterminer(text)) return false
  }
  return false
}

/** The words that belong to a noun and stand before it, the nearest first. */
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
])

function countOf(words: Word[], at: number, entry: Entry): number {
  for (const text of phraseBefore(words, at)) {
    const count = numberOf(text) ?? counters.get(text)
    if (count !== undefined) return Math.max(1, Math.min(mostOfAKind, count))
  }
  if (!entry.plural) return 1
  // "A fish", "a family": singular, whatever the word looks like.
  return /^(?:an?|this)$/.test(words[at - phraseBefore(words, at).length - 1]?.text ?? '') &&
    entry.word === 'fish'
    ? 1
    : 3
}

const clothing = new Set('coat dress shirt jacket hat scarf raincoat sweater cloak trousers skirt'.split(' '))

function coloursOf(words: Word[], at: number): Colour[] {
  const before = phraseBefore(words, at).flatMap((text) => colourNames.get(text) ?? [])
  if (before.length > 0) return before.toReversed()
  return predicateColour(words, at) ?? clothesColour(words, at) ?? []
}

/** "The car is red", "a car that is red". */
function predicateColour(words: Word[], at: number): Colour[] | undefined {
  const next = words[at + 1]?.text === 'that' ? at + 2 : at + 1
  if (!/^(?:is|are|was|were)$/.test(words[next]?.text ?? '')) return undefined
  const colour = colourNames.get(words[next + 1]?.text ?? '')
  const after = words[next + 2]?.text
  return colour !== undefined && (after === undefined || endsPhrase(after)) ? [colour] : undefined
}

/** "A girl in a red coat" wears red; so does a snowman with a red scarf. */
function clothesColour(words: Word[], at: number): Colour[] | undefined {
  for (let index = at + 1; index < Math.min(words.length, at + 7); index++) {
    const { text } = words[index]!
    if (nouns.has(text)) return undefined
    if (!clothing.has(text)) continue
    const colours = phraseBefore(words, index).flatMap((word) => colourNames.get(word) ?? [])
    return colours.length > 0 ? colours : undefined
  }
  return undefined
}

function nounIndex(): Map<string, Entry> {
  const index = new Map<string, Entry>()
  for (const [name, subject] of Object.entries(subjects) as [SubjectName, Subject][]) {
    for (const word of subject.words.split(' ')) {
      index.set(word, { name, word, plural: false })
      if (subject.plurals !== '') index.set(pluralOf(word), { name, word, plural: true })
    }
    for (const plural of (subject.plurals ?? '').split(' ')) {
      if (plural !== '') index.set(plural, { name, word: plural, plural: name !== 'flock' })
    }
  }
  return index
}

function pluralOf(word: string): string {
  if (/[^aeiou]y$/.test(word)) return `${word.slice(0, -1)}ies`
  return /(?:s|x|z|ch|sh)$/.test(word) ? `${word}es` : `${word}s`
}

function compoundSet(): ReadonlySet<string> {
  const lists = [
    otherThings,
    ...nouns.keys(),
    ...[...paletteRules, ...biomeRules, ...openAirRules, ...weatherRules].map((rule) => rule.words),
    snowWords,
  ]
  return new Set(lists.flatMap((list) => list.split(' ')).filter((word) => word.includes('-')))
}
