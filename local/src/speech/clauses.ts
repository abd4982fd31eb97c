/**
 * The first clause is short, so that its sound is there soon; the ones after it grow, because each is made while the
 * one before it is heard.
 */
const longest = [40, 80, 140, 200]
/** A cut at a comma must leave at least so much of a clause. */
const shortestPart = 0.3

const sentenceEnd = /(?<sign>[.!?…]+)[\p{Pe}\p{Pf}"']*(?=\s|$)|[。！？｡]+[\p{Pe}\p{Pf}]*|\n/gu
const partEnd = /[,;:][\p{Pe}\p{Pf}"']*(?=\s|$)|[—–](?=\s|\p{L})|[，、；：]/gu
const abbreviation = /(?:^|[\s\p{Ps}\p{Pi}"'])(?:mr|mrs|ms|dr|prof|st|vs|(?:\p{L}\.)*\p{L})\.$/iu

const words = new Intl.Segmenter('en', { granularity: 'word' })
const characters = new Intl.Segmenter('en', { granularity: 'grapheme' })

/** Cuts a text where one would take a breath. The parts make up the text again, but for the width of its gaps. */
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

function cutWithin(text: string, limit: number): number {
  if (text.length <= limit) return text.length
  const least = limit * shortestPart
  const atSentence = lastCut(sentenceEnd, text, limit)
  if (atSentence > 0) return withGap(text, atSentence)
  const atPart = lastCut(partEnd, text, limit)
  if (atPart >= least) return withGap(text, atPart)
  const atWord = lastWord(text, limit)
  if (atWord > 0) return atWord
  // One long word. It stays whole where it can.
  const atNextWord = lastWord(text, longest.at(-1)!)
  return atNextWord > 0 ? firstWord(text) : lastCharacter(text, longest.at(-1)!)
}

function withGap(text: string, cut: number): number {
  return /\s/u.test(text[cut] ?? '') ? cut + 1 : cut
}

function lastCut(ends: RegExp, text: string, limit: number): number {
  let last = 0
  for (const match of text.slice(0, limit + 1).matchAll(ends)) {
    const cut = match.index + match[0].length
    if (cut > limit) break
    const sign = match.groups?.['sign']
    if (sign === '.' && cut < text.length && isAbbreviation(text.slice(0, match.index + 1))) continue
    last = cut
  }
  return last
}

/** Ends of words after which a cut does no harm: before a gap, or where a script has none. */
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

function firstWord(text: string): number {
  return wordCuts(text).next().value ?? text.length
}

function lastCharacter(text: string, limit: number): number {
  let last = 0
  for (const { index, segment } of characters.segment(text.slice(0, limit * 2))) {
    if (last > 0 && index + segment.length > limit) break
    last = index + segment.length
  }
  return last
}
