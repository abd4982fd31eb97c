import { secondsPerTime, token } from './whisper-tokens.ts'

/** A text with the times around it, in seconds from the window's start. */
export interface TimedText {
  start: number
  end: number
  tokens: number[]
}

export interface SplitWindow {
  texts: TimedText[]
  /** How far the window was made out; from there on the next one starts. */
  until: number
}

/** A window that gets no further than this is taken as it is, or decoding would never end. */
const leastProgress = 1

/**
 * Takes the tokens of a window apart. A text whose end is missing, after others that have theirs, was broken off at the
 * window's edge and is left to the next window.
 */
export function splitWindow(tokens: readonly number[], soundSeconds: number): SplitWindow {
  const texts: TimedText[] = []
  let start = 0
  let words: number[] = []
  for (const id of tokens) {
    if (id < token.firstTime) {
      words.push(id)
      continue
    }
    const time = Math.min((id - token.firstTime) * secondsPerTime, soundSeconds)
    if (words.length > 0) texts.push({ start, end: time, tokens: words })
    words = []
    start = time
  }
  const closedUntil = texts.at(-1)?.end ?? 0
  if (words.length === 0) return { texts, until: texts.length === 0 ? soundSeconds : closedUntil }
  if (closedUntil >= leastProgress) return { texts, until: closedUntil }
  return { texts: [...texts, { start, end: soundSeconds, tokens: words }], until: soundSeconds }
}
