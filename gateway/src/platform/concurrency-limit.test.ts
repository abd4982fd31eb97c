import { expect, test } from 'vitest'

import { concurrencyLimit, concurrencyLimitPerKey } from './concurrency-limit.ts'

test('no more than so many run at once, in the order they came, and a failure frees its place', async () => {
  const run = concurrencyLimit(2)
  const started: number[] = []
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>())
  const all = Promise.allSettled(
    gates.map(({ promise }, index) =>
      run(async () => {
        started.push(index)
        await promise
      }),
    ),
  )
  await Promise.resolve()
  expect(started).toEqual([0, 1])
  gates[1]?.reject(new Error('it broke'))
  await expect.poll(() => started).toEqual([0, 1, 2])
  gates[0]?.resolve()
  await expect.poll(() => started).toEqual([0, 1, 2, 3])
  for (const { resolve } of gates) resolve()
  const results = await all
  expect(results.map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
    'fulfilled',
  ])
  expect(started).toEqual([0, 1, 2, 3, 4])
})

test('whoever has given up before it came takes no place, free or not', async () => {
  const enter = concurrencyLimitPerKey(1)
  const reason = new Error('gone already')
  const gone = AbortSignal.abort(reason)
  await expect(enter('a', gone)).rejects.toBe(reason)
  const leave = await enter('a')
  await expect(enter('a', gone)).rejects.toBe(reason)
  const next = enter('a')
  leave()
  const leaveNext = await next
  leaveNext()
})

test('each key has its own places, and whoever gives up waiting leaves its place to the next', async () => {
  const enter = concurrencyLimitPerKey(1)
  const leaveFirst = await enter('a')
  const leaveOther = await enter('b')
  const impatient = new AbortController()
  const second = enter('a', impatient.signal)
  const third = enter('a')
  impatient.abort(new Error('too long'))
  await expect(second).rejects.toThrow('too long')
  leaveFirst()
  leaveOther()
  const leaveThird = await third
  leaveThird()
  const again = await enter('a')
  again()
})
