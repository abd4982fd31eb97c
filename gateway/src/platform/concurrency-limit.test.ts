import { expect, test } from 'vitest'

import { concurrencyLimitPerKey } from './concurrency-limit.ts'

test('a caller whose signal has already aborted gets no slot, free or not', async () => {
  const enter = concurrencyLimitPerKey(1)
  const reason = new Error('aborted already')
  const aborted = AbortSignal.abort(reason)
  await expect(enter('a', aborted)).rejects.toBe(reason)
  const leave = await enter('a')
  await expect(enter('a', aborted)).rejects.toBe(reason)
  const next = enter('a')
  leave()
  const leaveNext = await next
  leaveNext()
})

test('each key has its own slots, and a caller that aborts while it waits leaves its slot to the next', async () => {
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
