import { secondsPerTime, token } from './whisper-tokens.ts'

/** A text with its start and end, in seconds from the start of the window. */
export interface TimedText {
  start: number
  end: number
  tokens: number[]
}

export interface SplitWindow {
  texts: TimedText[]
  /** The end of the last text. */
  until: number
  /** Whether an incomplete text follows. The next window has to start there. */
  isBrokenOff: boolean
}

/** A window with less progress is accepted as it is, so that decoding terminates. */
const leastProgress = 1

/**
 * Splits the tokens of a window into texts. If the window may end within speech (`isWhole` is false), a text without an
 * end time is incomplete, and is left to the next window if other texts precede it.
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
