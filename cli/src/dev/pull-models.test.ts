import { expect, test } from 'vitest'

import { createPullTotal } from './pull-models.ts'

test('the progress of a pull is that of all its sources, without those that failed', () => {
  const show = createPullTotal(100e6)
  const receive = (from: string, receivedBytes: number) =>
    show({ type: 'download', from, receivedBytes, totalBytes: undefined })
  expect(receive('one', 10e6)).toMatch(/^10 of 100 MB, [\d.]+ MB\/s, \d+ s left$/)
  expect(receive('two', 5e6)).toMatch(/^15 of 100 MB/)
  expect(show({ type: 'source-failed', from: 'two', reason: 'down' })).toBeUndefined()
  expect(show({ type: 'waiting' })).toBeUndefined()
  expect(receive('one', 30e6)).toMatch(/^30 of 100 MB/)
  expect(receive('three', 200e6)).toMatch(/^100 of 100 MB, [\d.]+ MB\/s, 0 s left$/)
  expect(createPullTotal(1e6)({ type: 'download', from: 'one', receivedBytes: 0, totalBytes: 1 })).toBe(
    '0 of 1 MB, 0.0 MB/s',
  )
})
