import { expect, test } from 'vitest'

import { keepFor } from './keep-for.ts'

const setUp = () => {
  let nowMs = 0
  let reads = 0
  let failure: Error | undefined
  const get = keepFor(
    100,
    async () => {
      if (failure !== undefined) throw failure
      return (reads += 1)
    },
    () => nowMs,
  )
  return {
    get,
    pass: (ms: number) => (nowMs += ms),
    fail: (error: Error | undefined) => (failure = error),
  }
}
const settle = () => new Promise(setImmediate)

test('a fresh value is not read again', async () => {
  const { get, pass } = setUp()
  expect(await get()).toBe(1)
  pass(99)
  expect(await get()).toBe(1)
})

test('callers at the same time share the first read', async () => {
  const { get } = setUp()
  expect(await Promise.all([get(), get(), get()])).toEqual([1, 1, 1])
})

test('an old value is returned while a new one is read', async () => {
  const { get, pass } = setUp()
  await get()
  pass(100)
  expect(await get()).toBe(1)
  await settle()
  expect(await get()).toBe(2)
})

test('a value that is too old is not returned', async () => {
  const { get, pass } = setUp()
  await get()
  pass(400)
  expect(await get()).toBe(2)
})

test('a failed read is tried again, and is an error once the old value is too old', async () => {
  const { get, pass, fail } = setUp()
  await get()
  fail(new Error('away'))
  pass(200)
  expect(await get()).toBe(1)
  await settle()
  pass(200)
  await expect(get()).rejects.toThrow('away')
  fail(undefined)
  expect(await get()).toBe(2)
})
