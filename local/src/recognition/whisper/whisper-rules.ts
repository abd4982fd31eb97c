import { token } from './whisper-tokens.ts'

export interface Rules {
  suppressed: readonly number[]
  suppressedFirst: readonly number[]
  /** The last time token within the sound. */
  lastTime: number
}

/** The first time of a window is within its first second. */
const latestFirstTime = token.firstTime + 50

/**
 * Converts `logits` to log probabilities in place, with minus infinity for tokens that may not follow `generated`. Times
 * enclose texts in pairs, never decrease, and are chosen if together they are likelier than any word.
 */
export function applyRules(logits: Float32Array, generated: readonly number[], rules: Rules): void {
  for (const id of rules.suppressed) logits[id] = -Infinity
  forbid(logits, token.start, token.firstTime)
  forbid(logits, rules.lastTime + 1, logits.length)

  if (generated.length === 0) {
    for (const id of rules.suppressedFirst) logits[id] = -Infinity
    forbid(logits, 0, token.firstTime)
    forbid(logits, latestFirstTime + 1, logits.length)
  } else {
    const lastIsTime = generated.at(-1)! >= token.firstTime
    const opensText = generated.length < 2 || generated.at(-2)! >= token.firstTime
    if (lastIsTime && opensText) forbid(logits, token.firstTime, logits.length)
    // After the end of a text, only the start of the next one or the end of all texts may follow.
    if (lastIsTime && !opensText) forbid(logits, 0, token.end)
    const latest = generated.findLast((id) => id >= token.firstTime)
    if (latest !== undefined) {
      // A text has a duration, but the next one may start where it ends.
      forbid(logits, token.firstTime, lastIsTime && !opensText ? latest : latest + 1)
    }
  }

  toLogProbabilities(logits)
  if (sumOfTimes(logits) > highest(logits, 0, token.firstTime)) {
    forbid(logits, 0, token.firstTime)
    // Normalizes the remaining probabilities, so that they add up to one.
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
