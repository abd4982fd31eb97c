import { token } from './whisper-tokens.ts'

export interface Rules {
  suppressed: readonly number[]
  suppressedFirst: readonly number[]
  /** The last token of time that still lies in the sound. */
  lastTime: number
}

/** The first time of a window lies in its first second. */
const latestFirstTime = token.firstTime + 50

/**
 * Turns `logits` into the logarithms of probabilities, in place, with minus infinity for what may not follow `said`.
 * Times come in pairs around the text, never go back, and are said where they are likelier than any word.
 */
export function applyRules(logits: Float32Array, said: readonly number[], rules: Rules): void {
  for (const id of rules.suppressed) logits[id] = -Infinity
  forbid(logits, token.start, token.firstTime)
  forbid(logits, rules.lastTime + 1, logits.length)

  if (said.length === 0) {
    for (const id of rules.suppressedFirst) logits[id] = -Infinity
    forbid(logits, 0, token.firstTime)
    forbid(logits, latestFirstTime + 1, logits.length)
  } else {
    const lastIsTime = said.at(-1)! >= token.firstTime
    const opensText = said.length < 2 || said.at(-2)! >= token.firstTime
    if (lastIsTime && opensText) forbid(logits, token.firstTime, logits.length)
    // After the end of a text only the next one's start, or the end of all.
    if (lastIsTime && !opensText) forbid(logits, 0, token.end)
    const latest = said.findLast((id) => id >= token.firstTime)
    if (latest !== undefined) {
      // A text takes some time, but the next one may start where it ended.
      forbid(logits, token.firstTime, lastIsTime && !opensText ? latest : latest + 1)
    }
  }

  toLogProbabilities(logits)
  if (sumOfTimes(logits) > highest(logits, 0, token.firstTime)) {
    forbid(logits, 0, token.firstTime)
    // What is left must be a whole again, or the choice would count for less than it was.
    toLogProbabilities(logits)
  }
}

export function toLogProbabilities(logits: Float32Array): void {
  const top = highest(logits, 0, logits.length)
  let sum = 0
  for (let id = 0; id < logits.length; id++) sum += Math.exp(logits[id]! - top)
  const whole = top + Math.log(sum)
  for (let id = 0; id < logits.length; id++) logits[id] = logits[id]! - whole
}

function forbid(logits: Float32Array, from: number, until: number): void {
  if (until > from) logits.fill(-Infinity, from, until)
}

function highest(logits: Float32Array, from: number, until: number): number {
  let top = -Infinity
  for (let id = from; id < until; id++) if (logits[id]! > top) top = logits[id]!
  return top
}

function sumOfTimes(logProbabilities: Float32Array): number {
  let sum = 0
  for (let id = token.firstTime; id < logProbabilities.length; id++) sum += Math.exp(logProbabilities[id]!)
  return Math.log(sum)
}
