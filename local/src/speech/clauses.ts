/**
 * The first clause is short if the text allows it, so that playback starts soon. Later clauses are longer, because each
 * is generated while the previous one plays.
 */
const longest = [60, 100, 160, 200]
/** The longest phrase without punctuation that is not cut, because a cut inside a phrase is audible. */
const longestPhrase = 300
/** A cut at a comma, or inside a phrase that is too long, must leave at least this share of a clause. */
const shortestPart = 0.3

const sentenceEnd = /(?<sign>[.!?…]+)[\p{Pe}\p{Pf}"']*(?=\s|$)|[。！？｡]+[\p{Pe}\p{Pf}]*|\n/gu
const partEnd = /[,;:][\p{Pe}\p{Pf}"']*(?=\s|$)|[—–](?=\s|\p{L})|[，、；：]/gu
/** Words that begin a part of a sentence, before which a cut sounds natural. */
export const joiningWords = (
  'and but or nor so yet because although though while when where whether which who that than if unless until since ' +
  'after before as in on at by for from with without of to into over under between through during about'
).split(' ')
const joiningWord = new RegExp(`\\s(?=(?:${joiningWords.join('|')})\\s)`, 'giu')
const abbreviation = /(?:^|[\s\p{Ps}\p{Pi}"'])(?:mr|mrs|ms|dr|prof|st|vs|(?:\p{L}\.)*\p{L})\.$/iu

const words = new Intl.Segmenter('en', { granularity: 'word' })
const characters = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Splits a text into clauses. Joined, they are the text again except for the width of its gaps. */
export function splitClauses(text: string): string[] {
  const clauses: string[] = []
  let rest = evenGaps(text)
  while (rest !== '') {
    const limit = longest[Math.min(clauses.length, longest.length - 1)]!
    const clause = rest.slice(0, cutWithin(rest, limit))
    clauses.push(clause)
    rest = rest.slice(clause.length)
  }
  return clauses
}

/** Seconds of silence after a clause, about what Kokoro leaves within one. */
export function pauseAfter(clause: string): number {
  if (clause.endsWith('\n')) return 0.4
  const end = clause.trimEnd()
  if (lastCut(sentenceEnd, end, end.length) === end.length) return 0.22
  return lastCut(partEnd, end, end.length) === end.length ? 0.08 : 0
}

export function isAbbreviation(textUpToPoint: string): boolean {
  return abbreviation.test(textUpToPoint)
}

function evenGaps(text: string): string {
  return text
    .trim()
    .replaceAll(/\s*\n\s*/gu, '\n')
    .replaceAll(/[^\S\n]+/gu, ' ')
}

/** The last end of a sentence or part of a sentence within the limit, or else the first one after it. */
function cutWithin(text: string, limit: number): number {
  if (text.length <= limit) return text.length
  const atSentence = lastCut(sentenceEnd, text, limit)
  if (atSentence > 0) return withGap(text, atSentence)
  const atPart = lastCut(partEnd, text, limit)
  if (atPart >= limit * shortestPart) return withGap(text, atPart)
  const beyond = [sentenceEnd, partEnd].map((ends) => firstCut(ends, text, limit, longestPhrase))
  const next = Math.min(...beyond.filter((cut) => cut > 0), text.length)
  return next <= longestPhrase ? withGap(text, next) : cutPhrase(text)
}

/** Cuts a long text without punctuation before a word that begins a part of a sentence, or else between words. */
function cutPhrase(text: string): number {
  const least = longestPhrase * shortestPart
  let atJoin = 0
  for (const match of text.slice(0, longestPhrase).matchAll(joiningWord)) atJoin = match.index + 1
  if (atJoin >= least) return atJoin
  const atWord = lastWord(text, longestPhrase)
  return atWord > 0 ? atWord : lastCharacter(text, longestPhrase)
}

function withGap(text: string, cut: number): number {
  return /\s/u.test(text[cut] ?? '') ? cut + 1 : cut
}

function lastCut(ends: RegExp, text: string, limit: number): number {
  let last = 0
  for (const cut of cutsOf(ends, text, limit)) last = cut
  return last
}

function firstCut(ends: RegExp, text: string, from: number, limit: number): number {
  for (const cut of cutsOf(ends, text, limit)) if (cut >= from) return cut
  return 0
}

function* cutsOf(ends: RegExp, text: string, limit: number): Generator<number> {
  for (const match of text.slice(0, limit + 1).matchAll(ends)) {
    const cut = match.index + match[0].length
    if (cut > limit) return
    const sign = match.groups?.['sign']
    if (sign === '.' && cut < text.length && isAbbreviation(text.slice(0, match.index + 1))) continue
    yield cut
  }
}

/** The positions where a cut is possible: before a gap, or anywhere in a script without gaps. */
function* wordCuts(text: string): Generator<number> {
  let before: Intl.SegmentData | undefined
  for (const segment of words.segment(text)) {
    if (/^\s$/u.test(segment.segment)) yield segment.index + 1
    else if (before?.isWordLike === true && segment.isWordLike === true) yield segment.index
    before = segment
  }
}

function lastWord(text: string, limit: number): number {
  let last = 0
  for (const cut of wordCuts(text.slice(0, limit + 1))) if (cut <= limit + 1) last = cut
  return last
}

function lastCharacter(text: string, limit: number): number {
  let last = 0
  for (const { index, segment } of characters.segment(text.slice(0, limit * 2))) {
    if (last > 0 && index + segment.length > limit) break
    last = index + segment.length
  }
  return last
}
