import { expect, test } from 'vitest'

import { createMediaWork, createUnlimitedMediaWork, type MediaWork } from './media-work.ts'

const { signal } = new AbortController()
const limits = {
  concurrency: 2,
  runningPerAccount: 1,
  inFlight: { account: 3, key: 10, address: 10, total: 4 },
}

/** Submits for these accounts while every place is taken, and answers in which order they were served. */
const orderOf = async ({ run }: MediaWork, blockers: string[], accounts: string[]) => {
  const { promise: blocked, resolve } = Promise.withResolvers<void>()
  const served: string[] = []
  const submit = (accountId: string, work: () => Promise<void>) =>
    run({ accountId, keyId: accountId, addressPrefix: accountId }, signal, work)
  const works = [
    ...blockers.map((account) => submit(account, () => blocked)),
    ...accounts.map((account) =>
      submit(account, async () => {
        served.push(account)
      }),
    ),
  ]
  resolve()
  await Promise.all(works)
  return served
}

test('accounts are served round-robin', async () => {
  const work = createMediaWork({ ...limits, inFlight: { ...limits.inFlight, total: 10 } })
  expect(await orderOf(work, ['a', 'c'], ['a', 'a', 'b'])).toEqual(['a', 'b', 'a'])
})

test('without limits entries run in order of arrival', async () => {
  const arrivals = [...Array.from({ length: 50 }, () => 'a'), 'b']
  expect(await orderOf(createUnlimitedMediaWork(2), ['a', 'a'], arrivals)).toEqual(arrivals)
})

test('an account over its limit gets a 429, and every caller a 503 above the total limit', async () => {
  const { run } = createMediaWork(limits)
  const { promise: blocked, resolve } = Promise.withResolvers<void>()
  const submit = (accountId: string) =>
    run({ accountId, keyId: accountId, addressPrefix: accountId }, signal, () => blocked)
  const admitted = [submit('a'), submit('a'), submit('a')]
  await expect(submit('a')).rejects.toMatchObject({
    code: 'rate_limit_exceeded',
    message: 'Concurrency limit reached: 3 media files in process for this account. Try again in 5 s.',
    headers: { 'retry-after': '5' },
  })
  admitted.push(submit('b'))
  await expect(submit('c')).rejects.toMatchObject({
    code: 'service_unavailable',
    headers: { 'retry-after': '5' },
  })
  // Told of what it can change itself, not of what others do.
  await expect(submit('a')).rejects.toMatchObject({ code: 'rate_limit_exceeded' })
  resolve()
  await Promise.all(admitted)
})

test('an account downloads eight images at once, others wait, and none waits for videos', async () => {
  const { fetch, fetchImage } = createMediaWork({ ...limits, inFlight: { ...limits.inFlight, total: 100 } })
  const { promise: blocked, resolve } = Promise.withResolvers<void>()
  const submit = (queue: MediaWork['fetch'], accountId: string, work: () => Promise<void>) =>
    queue({ accountId, keyId: accountId, addressPrefix: accountId }, signal, work)
  let started = 0
  const images = Array.from({ length: 20 }, () =>
    submit(fetchImage, 'a', () => {
      started += 1
      return blocked
    }),
  )
  const videos = Array.from({ length: 16 }, (_, index) => submit(fetch, `account ${index}`, () => blocked))
  await submit(fetchImage, 'b', async () => undefined)
  expect(started).toBe(8)
  resolve()
  await Promise.all([...images, ...videos])
  expect(started).toBe(20)
})
