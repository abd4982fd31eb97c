import { afterEach, expect, test, vi } from 'vitest'

import { Kinora } from './index.ts'

afterEach(() => vi.useRealTimers())

/** A service whose streams and waits do not come through; its reads say when to read again. */
const startBehindProxy = (pollAfter: string, reads: number) => {
  vi.useFakeTimers()
  const readAtMs: number[] = []
  const fetch = async (url: string): Promise<Response> => {
    if (url.endsWith('/events')) return new Response('a page of a proxy', { status: 502 })
    readAtMs.push(performance.now())
    const status = readAtMs.length >= reads ? 'completed' : 'processing'
    return Response.json({ id: 'vid', status }, { headers: { 'x-poll-after': pollAfter } })
  }
  const kinora = new Kinora({ baseUrl: 'http://127.0.0.1', apiKey: 'sk-test', fetch })
  return { kinora, readAtMs }
}
const gapsOf = (times: number[]) => times.slice(1).map((at, index) => at - (times[index] ?? 0))

test.each([
  ['7.5', 7_500],
  ['0.1', 1_000],
  ['600', 60_000],
  ['soon', 1_000],
])('reads that do not wait are repeated after the X-Poll-After of the service (%s)', async (given, ms) => {
  const { kinora, readAtMs } = startBehindProxy(given, 5)
  const watching = kinora.videos.watch('vid')
  await vi.runAllTimersAsync()
  expect((await watching).id).toBe('vid')
  // The first read only tells the state, and the next one waits for a change.
  expect(gapsOf(readAtMs).slice(1)).toEqual([ms, ms, ms])
})
