import { expect, test } from 'vitest'

import { compressionRatio } from './whisper-decode.ts'
import { applyRules, type Rules } from './whisper-rules.ts'
import { splitWindow } from './whisper-segments.ts'
import { token, vocabularySize } from './whisper-tokens.ts'

const rules: Rules = { suppressed: [7], suppressedFirst: [220, token.end], lastTime: token.firstTime + 500 }
const time = (hundredths: number) => token.firstTime + hundredths / 2

/** The tokens that may follow if the model has no preference but the given one. */
function allowedAfter(generated: number[], preferred?: number): Set<number> {
  const logits = new Float32Array(vocabularySize)
  // Otherwise all time tokens together would always outweigh a single word.
  logits.fill(-9, token.firstTime)
  if (preferred !== undefined) logits[preferred] = 20
  applyRules(logits, generated, rules)
  let sum = 0
  for (const value of logits) sum += Math.exp(value)
  expect(sum).toBeCloseTo(1, 3)
  return new Set(logits.keys().filter((id) => logits[id]! > -Infinity))
}

test('a window starts with a time in its first second', () => {
  const allowed = [...allowedAfter([])]
  expect(Math.min(...allowed)).toBe(time(0))
  expect(Math.max(...allowed)).toBe(time(100))
})

test('text follows the time that starts it', () => {
  const allowed = allowedAfter([time(0)])
  expect(allowed.has(400)).toBe(true)
  expect(allowed.has(7)).toBe(false)
  expect(allowed.has(time(100))).toBe(false)
})

test('the end time of a text is after its start and within the sound', () => {
  const allowed = allowedAfter([time(100), 400])
  expect(allowed.has(time(100))).toBe(false)
  expect(allowed.has(time(102))).toBe(true)
  expect(allowed.has(time(1000))).toBe(true)
  expect(allowed.has(time(1002))).toBe(false)
  expect(allowed.has(token.noSpeech)).toBe(false)
})

test('after the end of a text, only a start time that is not earlier or the end of all texts may follow', () => {
  const allowed = allowedAfter([time(100), 400, time(200)])
  expect(allowed.has(400)).toBe(false)
  expect(allowed.has(token.end)).toBe(true)
  expect(allowed.has(time(198))).toBe(false)
  expect(allowed.has(time(200))).toBe(true)
})

test('a time is generated if all times together are likelier than any word', () => {
  const logits = new Float32Array(vocabularySize)
  applyRules(logits, [time(0), 400], rules)
  expect(logits[400]).toBe(-Infinity)
})

test('times split the tokens into texts', () => {
  expect(splitWindow([time(0), 1, 2, time(200), time(220), 3, time(300)], 30, true)).toEqual({
    texts: [
      { start: 0, end: 2, tokens: [1, 2] },
      { start: 2.2, end: 3, tokens: [3] },
    ],
    until: 3,
    isBrokenOff: false,
  })
  expect(splitWindow([], 5, true)).toEqual({ texts: [], until: 0, isBrokenOff: false })
})

test('an incomplete text is left to the next window if there was progress', () => {
  const first = { start: 0, end: 20, tokens: [1] }
  const tokens = [time(0), 1, time(2000), time(2000), 2]
  expect(splitWindow(tokens, 30, false)).toEqual({ texts: [first], until: 20, isBrokenOff: true })
  const last = { start: 20, end: 30, tokens: [2] }
  expect(splitWindow(tokens, 30, true)).toEqual({ texts: [first, last], until: 30, isBrokenOff: false })
  expect(splitWindow([time(0), 1, time(40), time(40), 2], 12, false)).toMatchObject({
    texts: [{ end: 0.4 }, { start: 0.4, end: 12, tokens: [2] }],
    until: 12,
  })
  expect(splitWindow([time(0), 1], 5, false)).toMatchObject({ texts: [{ start: 0, end: 5 }], until: 5 })
})

test('repeated text has a high compression ratio', () => {
  expect(compressionRatio('The quick brown fox jumps over the lazy dog.')).toBeLessThan(1.2)
  expect(compressionRatio('and again '.repeat(20))).toBeGreaterThan(2.4)
})
