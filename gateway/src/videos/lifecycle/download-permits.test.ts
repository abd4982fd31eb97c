import { expect, test } from 'vitest'

import { createDownloadPermits, type DownloadResult } from './download-permits.ts'

const acquireAll = (permits: ReturnType<typeof createDownloadPermits>, provider: string) => {
  const acquired: ((result: DownloadResult) => void)[] = []
  for (let next = permits.tryAcquire(provider); next !== undefined; next = permits.tryAcquire(provider))
    acquired.push(next)
  return acquired
}

test('permits are limited per provider and in total, and returned ones are granted again', () => {
  const permits = createDownloadPermits({ total: 5, perProvider: 3 })
  const first = acquireAll(permits, 'first')
  const second = acquireAll(permits, 'second')
  expect([first.length, second.length, acquireAll(permits, 'third').length]).toEqual([3, 2, 0])
  for (const release of first) release('undecided')
  const third = acquireAll(permits, 'third')
  expect(third).toHaveLength(3)
  for (const release of [...second, ...third]) release('succeeded')
  for (const provider of ['first', 'second']) {
    const again = acquireAll(permits, provider)
    expect(again).toHaveLength(3)
    for (const release of again) release('succeeded')
  }
})

test('a provider has one permit at a time from a failed download until one succeeds', () => {
  const permits = createDownloadPermits({ total: 5, perProvider: 3 })
  for (const release of acquireAll(permits, 'first')) release('failed')
  const probe = acquireAll(permits, 'first')
  expect(probe).toHaveLength(1)
  expect(acquireAll(permits, 'second')).toHaveLength(3)
  probe[0]?.('undecided')
  permits.tryAcquire('first')?.('succeeded')
  expect(acquireAll(permits, 'first')).toHaveLength(2)
})
