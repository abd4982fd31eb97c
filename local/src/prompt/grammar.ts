/** Distinguishes the nouns of a prompt from its verbs, and finds the ends of phrases. */

export interface Word {
  /** Lower case; `@` for the handle of a character. */
  text: string
}

const set = (text: string): ReadonlySet<string> => new Set(text.split(' '))

const numbers = new Map(
  [
    ...'zero one two three four five six seven eight nine ten eleven twelve'.split(' ').entries(),
    ...'零 一 二 三 四 五 六 七 八 九 十'.split(' ').entries(),
    [2, '两'] as const,
  ].map(([value, word]) => [word, value]),
)

const determiners = set(
  'a an the this that these those my your his her its our their some any each every another no many several few both all',
)
const prepositions = set(
  'in on at by near under over above below behind beside between among through across along around from into onto to of with without inside outside during after before beyond past toward towards against for like off up down 在 从 到 向 往 把 被 坐在 站在 走在 跑在 躺在 飞在 停在 开在',
)
const auxiliaries = set('is are was were be been being am has have had 是 有')
const modals = set(
  "can could will would shall should may might must let lets let's do does did don't doesn't didn't won't can't cannot please to not never",
)
const pronouns = set('i you he she it we they who which')
const conjunctions = set('and or but while as when then because so if 和 与 跟 及 或')
const objects = set('me you him her it us them')

/** Nouns of the tables that are also verbs, in all forms that both share. */
const alsoVerbs = set(
  'train trains park parks rose snow snows rain rains water waters storm storms cloud clouds star stars wave waves flower flowers fish ship ships bridge bridges rocket rockets spring springs leaves fire fires flame flames spark sparks dust duck ducks swallow swallows crane cranes bear bears field fields garden gardens tower towers mist fog blossom blossoms bloom peak peaks shore shores coast coasts orbit orbits balloon balloons kite kites sand sands ice frost harvest bus cup cups plane planes watch fly flies light lights',
)

/** Nouns that can be subjects of a verb: after them, a word that may be a verb is one. */
const agents = set(
  '@ man men woman women boy boys girl girls child children kid kids person people baby babies mother father mom dad friend friends family couple farmer farmers teacher student players player dog dogs cat cats horse horses bird birds robot robots sun moon smoke someone everyone somebody everybody nobody he she',
)

function isAdverb(text: string): boolean {
  return (
    (text.endsWith('ly') &&
      !/^(?:lily|family|butterfly|dragonfly|firefly|july|italy|fly|lovely|lonely|friendly)$/.test(text)) ||
    /^(?:always|often|just|now|soon|still|again|also)$/.test(text)
  )
}

export function numberOf(text: string): number | undefined {
  return /^\d+$/.test(text) ? Number(text) : numbers.get(text)
}

export function isDeterminer(text: string): boolean {
  return determiners.has(text) || numberOf(text) !== undefined || text.endsWith("'s") || text.endsWith('’s')
}

export function isBreak(text: string): boolean {
  return /^[^\p{L}\p{N}@]/u.test(text)
}

/** Whether this word ends a noun phrase. */
export function endsPhrase(text: string): boolean {
  return (
    isBreak(text) ||
    isDeterminer(text) ||
    prepositions.has(text) ||
    auxiliaries.has(text) ||
    modals.has(text) ||
    pronouns.has(text) ||
    conjunctions.has(text) ||
    text === '@'
  )
}

/** Whether the object of a verb begins here: "building *a* snowman", "train *them*". */
function beginsObject(text: string | undefined): boolean {
  return text !== undefined && (isDeterminer(text) || objects.has(text) || text === '@')
}

function wordBefore(words: Word[], at: number): string | undefined {
  let index = at - 1
  while (index >= 0 && isAdverb(words[index]!.text)) index--
  return words[index]?.text
}

/** Whether a noun of the tables is used as a noun here. */
export function isNoun(words: Word[], at: number): boolean {
  const { text } = words[at]!
  // Only these words look back over adverbs, and none of them is an adverb, so the search stays linear.
  if (text !== 'building' && !alsoVerbs.has(text)) return true
  const before = wordBefore(words, at)
  const after = words[at + 1]?.text
  if (text === 'building') return isGerundNoun(before, after)
  if (before === undefined || isBreak(before) || conjunctions.has(before)) return !beginsObject(after)
  if (pronouns.has(before) || modals.has(before)) return false
  return !agents.has(before)
}

/** Whether "building" is a noun: in "a tall building", but not in "children building a snowman" or "building blocks". */
function isGerundNoun(before: string | undefined, after: string | undefined): boolean {
  if (before === undefined || agents.has(before)) return false
  if (endsPhrase(before) && !isDeterminer(before)) return false
  return after === undefined || (endsPhrase(after) && !beginsObject(after))
}
