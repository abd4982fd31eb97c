import { expect, test } from 'vitest'

import { createLineLimit } from './limit-lines.ts'

const rate = { burst: 5, windowMs: 1_000 }

test('a burst of 1,000 lines shows a few of them and one count', () => {
  const limit = createLineLimit()
  let shown = 0
  for (let index = 0; index < 1_000; index += 1) if (limit.accept({ key: 'a', rate }, index / 10)) shown += 1
  expect(shown).toBe(5)
  expect(limit.takeHeld(500)).toEqual([])
  expect(limit.takeHeld(1_000)).toEqual([{ line: { key: 'a', rate }, count: 995, seconds: 1 }])
  expect(limit.takeHeld(60_000)).toEqual([])
})

test('no line is lost: each is shown or counted', () => {
  const limit = createLineLimit()
  let shown = 0
  let counted = 0
  const take = (nowMs: number) => limit.takeHeld(nowMs).forEach(({ count }) => (counted += count))
  for (let index = 0; index < 10_000; index += 1) {
    if (limit.accept({ key: `key ${index % 40}`, rate }, index)) shown += 1
    if (index % 200 === 0) take(index)
  }
  take(1_000_000)
  expect(shown + counted).toBe(10_000)
})

test('a flood over minutes shows ever fewer lines, and single ones are shown again after it', () => {
  const limit = createLineLimit()
  const counts: number[] = []
  let shown = 0
  for (let nowMs = 0; nowMs < 120_000; nowMs += 100) {
    if (limit.accept({ key: 'a', rate }, nowMs)) shown += 1
    counts.push(...limit.takeHeld(nowMs).map(({ seconds }) => seconds))
  }
  expect(shown).toBe(5)
  expect(counts).toEqual([1, 2, 4, 8, 16, 30, 30])
  limit.takeHeld(200_000)
  limit.takeHeld(300_000)
  expect(limit.accept({ key: 'a', rate }, 300_001)).toBe(true)
})

test('many different lines at once are bounded too', () => {
  const limit = createLineLimit()
  let shown = 0
  for (let index = 0; index < 300; index += 1) if (limit.accept({ key: String(index), rate }, 10)) shown += 1
  expect(shown).toBe(20)
})

test('a flood of different lines has few counts, and no line is lost', () => {
  const limit = createLineLimit()
  let shown = 0
  for (let index = 0; index < 10_000; index += 1)
    if (limit.accept({ key: String(index), rate }, index / 100)) shown += 1
  const held = limit.takeHeld(5_000)
  expect(held.length).toBeLessThan(10)
  expect(held.at(-1)).toMatchObject({ isMixed: true })
  expect(shown + held.reduce((sum, { count }) => sum + count, 0)).toBe(10_000)
})
