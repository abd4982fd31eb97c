import { expect, test } from 'vitest'

import { createSenderPermits } from './sender-permits.ts'

test('endpoints that hang leave permits for the first attempt of others', () => {
  const permits = createSenderPermits(32)
  expect(permits.take('hanging', 10)).toBe(4)
  expect(permits.take('also hanging', 10)).toBe(1)
  expect(permits.take('another', 10)).toBe(1)
  expect(permits.take('hanging', 1)).toBe(0)
  expect(permits.taken()).toBe(6)
})

test('endpoints that respond quickly may have more than those that hang, and leave the first attempt to others', () => {
  const permits = createSenderPermits(32)
  permits.take('quick', 1)
  permits.giveBack('quick', 20)
  expect(permits.take('hanging', 10)).toBe(4)
  expect(permits.take('quick', 30)).toBe(20)
  expect(permits.take('another', 10)).toBe(1)
  for (let each = 0; each < 20; each += 1) permits.giveBack('quick', Infinity)
  expect(permits.take('quick', 10)).toBe(1)
})

test('no more than all permits are taken, and each is given back', () => {
  const permits = createSenderPermits(4)
  expect(['a', 'b', 'c', 'd', 'e'].map((id) => permits.take(id, 1))).toEqual([1, 1, 1, 1, 0])
  permits.giveBack('b')
  expect(permits.take('e', 2)).toBe(1)
  for (const id of ['a', 'c', 'd', 'e']) permits.giveBack(id)
  expect(permits.taken()).toBe(0)
  expect(() => permits.giveBack('a')).toThrow('a has no permit')
})
