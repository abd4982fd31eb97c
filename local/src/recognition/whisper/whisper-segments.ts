import { secondsPerTime, token } from './whisper-tokens.ts'

/** A text with the times around it, in seconds from the window's start. */
export interface TimedText {
  start: number
  end: number
  tokens: number[]
}

export interface SplitWindow {
  texts: TimedText[]
  /** Where the last text ends. */
  until: number
  /** Whether a text after that was broken off; the next window has to start there. */
  isBrokenOff: boolean
}

/** A window that gets no further than this is taken as it is, or decoding would never end. */
const leastProgress = 1

/**
 * Takes the tokens of a window apart. Where they may end amid speech (`isWhole` is false), a text whose end is missing was
 * broken off, and is left to the next window if others came before it.
 */
export function splitWindow(tokens: readonly number[], soundSeconds: number, isWhole: boolean): SplitWindow {
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
  const until = texts.at(-1)?.end ?? 0
  if (words.length === 0) return { texts, until, isBrokenOff: false }
  if (!isWhole && until >= leastProgress) return { texts, until, isBrokenOff: true }
  texts.push({ start, end: soundSeconds, tokens: words })
  return { texts, until: soundSeconds, isBrokenOff: false }
}
