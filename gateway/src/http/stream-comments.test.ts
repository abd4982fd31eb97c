import { afterEach, expect, test, vi } from 'vitest'

import { createStreamComments, silentTicksMax, writesPerTurn } from './stream-comments.ts'

afterEach(() => vi.useRealTimers())

/** A response that records in which second it was written to. */
const createResponses = (count: number, onWrite: () => void = () => undefined) =>
  Array.from({ length: count }, () => {
    const written: number[] = []
    const response = {
      destroyed: false,
      writableNeedDrain: false,
      write: () => {
        written.push(Math.floor(Date.now() / 1000))
        onWrite()
        return true
      },
    }
    return { response, written }
  })

/** Lets seconds pass, and all turns of the event loop that belong to each. */
const pass = (seconds: number) => {
  for (let second = 0; second < seconds; second += 1) vi.advanceTimersByTime(1_000)
}
const fake = () =>
  vi.useFakeTimers({ now: 0, toFake: ['setInterval', 'clearInterval', 'setImmediate', 'Date'] })

test('no stream is silent for more than twelve seconds', () => {
  fake()
  const comments = createStreamComments()
  const streams = createResponses(2_000)
  for (const { response } of streams) comments.add(response)
  pass(120)
  for (const { written } of streams) {
    const gaps = written.map((at, index) => at - (written[index - 1] ?? 0))
    expect(Math.max(...gaps)).toBeLessThanOrEqual(silentTicksMax)
    expect(written.length).toBeGreaterThanOrEqual(120 / silentTicksMax - 1)
  }
})

test('a stream that writes by itself, one that has ended and one whose client does not read get no comment', () => {
  fake()
  const comments = createStreamComments()
  const [busy, ended, closed, stalled] = createResponses(4)
  if (!busy || !ended || !closed || !stalled) throw new Error('four responses')
  const writing = comments.add(busy.response)
  comments.add(ended.response).stop()
  comments.add(closed.response)
  closed.response.destroyed = true
  comments.add(stalled.response)
  stalled.response.writableNeedDrain = true
  for (let second = 0; second < 60; second += 1) {
    pass(1)
    writing.noteWrite()
  }
  for (const { written } of [busy, ended, closed, stalled]) expect(written).toEqual([])
  stalled.response.writableNeedDrain = false
  pass(silentTicksMax)
  expect(stalled.written.length).toBeGreaterThan(0)
})

test('streams that began together get their comments in many turns of the event loop', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  let ofTurn = 0
  let most = 0
  const comments = createStreamComments()
  const streams = createResponses(2_000, () => {
    ofTurn += 1
    most = Math.max(most, ofTurn)
  })
  for (const { response } of streams) comments.add(response)
  for (let second = 0; second < silentTicksMax; second += 1) {
    ofTurn = 0
    vi.advanceTimersByTime(1_000)
    for (let turn = 0; turn < streams.length / writesPerTurn; turn += 1) {
      ofTurn = 0
      await new Promise(setImmediate)
    }
  }
  expect(most).toBe(writesPerTurn)
  expect(streams.every(({ written }) => written.length > 0)).toBe(true)
})
