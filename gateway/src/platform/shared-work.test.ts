import { expect, test } from 'vitest'

import { createSharedWork } from './shared-work.ts'

/** Work that ends when told to, and fails when it is aborted. */
const controlled = () => {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const begun: AbortSignal[] = []
  const start = (signal: AbortSignal) => {
    begun.push(signal)
    signal.addEventListener('abort', () => reject(signal.reason))
    return promise
  }
  return { start, begun, resolve, reject }
}

test('runs once for all callers that wait', async () => {
  const share = createSharedWork<string>()
  const { start, begun, resolve } = controlled()
  const { signal } = new AbortController()
  const both = Promise.all([share('a', signal, start), share('a', signal, start)])
  resolve('made')
  expect(await both).toEqual(['made', 'made'])
  expect(begun).toHaveLength(1)
  expect(await share('a', signal, async () => 'made anew')).toBe('made anew')
})

test('goes on while one caller waits, and is aborted when all have left', async () => {
  const share = createSharedWork<string>()
  const { start, begun } = controlled()
  const [first, second] = [new AbortController(), new AbortController()]
  const answers = [share('a', first.signal, start), share('a', second.signal, start)]
  first.abort()
  await expect(answers[0]).rejects.toBe(first.signal.reason)
  expect(begun[0]?.aborted).toBe(false)
  second.abort()
  await expect(answers[1]).rejects.toBe(second.signal.reason)
  expect(begun[0]?.aborted).toBe(true)
})

test('starts again for a caller that comes after the abort, even before the aborted work has ended', async () => {
  const share = createSharedWork<string>()
  const leaving = new AbortController()
  const never = share('a', leaving.signal, () => new Promise(() => undefined))
  leaving.abort()
  await expect(never).rejects.toBe(leaving.signal.reason)
  expect(await share('a', new AbortController().signal, async () => 'made')).toBe('made')
})

test('a failure reaches all callers that wait', async () => {
  const share = createSharedWork<string>()
  const { start, reject } = controlled()
  const { signal } = new AbortController()
  const answers = [share('a', signal, start), share('a', signal, start)]
  const failure = new Error('it failed')
  reject(failure)
  for (const answer of answers) await expect(answer).rejects.toBe(failure)
})
