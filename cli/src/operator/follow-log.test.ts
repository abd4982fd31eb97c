import type { LoggedRequest } from '@kinora/client/admin'
import { expect, test } from 'vitest'

import { createLogReader } from './follow-log.ts'

const requestOf = (id: string, at: number) => ({ id, at }) as LoggedRequest

/** A log of pages of two, newest first. */
const openLog = () => {
  const requests: LoggedRequest[] = []
  let pagesRead = 0
  let failsAt: number | undefined
  const read = createLogReader(
    async ({ from, cursor }) => {
      pagesRead += 1
      if (pagesRead === failsAt) throw new Error('lost')
      const all = requests.filter(({ at }) => at >= from).toSorted((one, other) => other.at - one.at)
      const start = cursor === undefined ? 0 : all.findIndex(({ id }) => id === cursor) + 1
      const data = all.slice(start, start + 2)
      return { data, next: start + 2 < all.length ? (data.at(-1)?.id ?? null) : null }
    },
    () => 10_000,
  )
  return {
    add: (id: string, at: number) => requests.push(requestOf(id, at)),
    failNext: (page: number) => (failsAt = pagesRead + page),
    read: async () => (await read(new AbortController().signal)).map(({ id }) => id),
    countPages: async () => {
      const before = pagesRead
      await read(new AbortController().signal)
      return pagesRead - before
    },
  }
}

test('each request is read once, in the order of arrival, and a slow one when it ends', async () => {
  const log = openLog()
  for (const at of [9_901, 9_902, 9_903, 9_904, 9_905]) log.add(`r${at}`, at)
  log.add('before the window', 9_000)
  expect(await log.read()).toEqual(['r9901', 'r9902', 'r9903', 'r9904', 'r9905'])
  expect(await log.read()).toEqual([])
  log.add('r9906', 9_906)
  expect(await log.read()).toEqual(['r9906'])
  // It arrived first and has only now ended, behind pages without anything new.
  log.add('slow', 9_900)
  const later: string[] = []
  for (let reads = 0; reads < 10; reads += 1) later.push(...(await log.read()))
  expect(later).toEqual(['slow'])
  expect(await log.countPages()).toBe(1)
})

test('a read that fails in between loses nothing', async () => {
  const log = openLog()
  for (const at of [9_901, 9_902, 9_903]) log.add(`r${at}`, at)
  log.failNext(2)
  await expect(log.read()).rejects.toThrow('lost')
  expect(await log.read()).toContain('r9903')
})
