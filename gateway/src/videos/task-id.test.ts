import fc from 'fast-check'
import { expect, test } from 'vitest'

import {
  createModelTaskId,
  createRemixTaskId,
  createUuidTaskId,
  dayOfTaskId,
  taskIdAt,
  timeOfTaskId,
} from './task-id.ts'

const lastMsOfIds = 9_999_999_999_000
const time = fc.integer({ min: 1_000_000_000_000, max: lastMsOfIds })
const model = fc.stringMatching(/^[A-Za-z0-9._-]{1,64}$/)
const dayOf = (atMs: number) => new Date(atMs).toISOString().slice(0, 10)

test('a task id contains the day of its creation', () => {
  fc.assert(
    fc.property(time, model, (atMs, name) => {
      expect(dayOfTaskId(createUuidTaskId(atMs))).toBe(dayOf(atMs))
      expect(dayOfTaskId(createModelTaskId(name, atMs))).toBe(dayOf(atMs))
      expect(dayOfTaskId(createModelTaskId(name, atMs).replace(':', ':remix-'))).toBe(dayOf(atMs))
    }),
  )
})

test('ids have the documented formats', () => {
  const atMs = Date.UTC(2026, 0, 31)
  expect(createUuidTaskId(atMs)).toMatch(
    /^video_[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  )
  expect(createModelTaskId('vidB-2', atMs)).toMatch(/^vidB-2:1769817600-[0-9A-Za-z]{14}$/)
})

test('ids created in the same millisecond differ', () => {
  const ids = Array.from({ length: 10_000 }, () => createModelTaskId('vidB-2', 0))
  expect(new Set(ids).size).toBe(ids.length)
})

test('other text is not a task id and never throws', () => {
  const nearly = fc.tuple(
    fc.constantFrom('video_', 'vidB-2:', 'vidB-2:remix-', ''),
    fc.string({ unit: 'binary' }),
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: 'binary' }),
        nearly.map((parts) => parts.join('')),
      ),
      (text) => {
        const day = dayOfTaskId(text)
        if (day !== undefined) expect(day).toMatch(/^\d{4}-\d{2}-\d{2}$/)
      },
    ),
  )
  for (const text of [
    '',
    'video_',
    'vidB-2:1700000000-',
    'vidB-2:1700000000-short',
    'vidB-2:1700000000-00aaaaaaaaaaaa\n',
  ]) {
    expect(dayOfTaskId(text)).toBeUndefined()
  }
})

test('an id with a time beyond the range of the database is not a task id', () => {
  expect(dayOfTaskId(createUuidTaskId(2 ** 48 - 1))).toBeUndefined()
})

test('an id can get another time and stays unique', () => {
  const atMs = Date.parse('2027-03-01T23:59:59.999Z')
  for (const id of [
    createUuidTaskId(1_700_000_000_000),
    createModelTaskId('clip-1.5', 1_700_000_000_000),
    createRemixTaskId('vidB-2', 1_700_000_000_000),
  ]) {
    const later = taskIdAt(id, atMs + 0.7)
    expect(later).toHaveLength(id.length)
    expect(later.slice(-12)).toBe(id.slice(-12))
    expect(later.slice(0, 6)).toBe(id.slice(0, 6))
    expect(Math.floor((timeOfTaskId(later)?.getTime() ?? 0) / 1000)).toBe(Math.floor(atMs / 1000))
    expect(dayOfTaskId(later)).toBe('2027-03-01')
  }
})

test('the ids of models with the longest names are ids', () => {
  expect(timeOfTaskId(createRemixTaskId('m'.repeat(100), 1_700_000_000_000))).toEqual(
    new Date(1_700_000_000_000),
  )
})
