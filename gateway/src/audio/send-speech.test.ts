import { Readable } from 'node:stream'

import { afterEach, expect, test, vi } from 'vitest'

import { sendSpeech, speechEvents, type SpeechUnderWay } from './send-speech.ts'

afterEach(() => {
  vi.useRealTimers()
})

const megabyte = Buffer.alloc(1_000_000)

const underWay = (bytes: Readable) => {
  const settled: [outcome: string, sentBytes: number][] = []
  const leave = new AbortController()
  const speech: SpeechUnderWay = {
    bytes,
    signal: leave.signal,
    problem: (error) => error,
    settle: async (...ending) => {
      settled.push(ending)
    },
  }
  return { speech, settled, leave }
}

test('a speech is settled before its end is seen', async () => {
  const { speech, settled } = underWay(Readable.from([megabyte, megabyte]))
  const body = sendSpeech(speech)
  body.on('end', () => settled.push(['seen', 0]))
  await body.toArray()
  expect(settled).toEqual([
    ['completed', 2_000_000],
    ['seen', 0],
  ])
})

test('a listener who takes nothing for a minute is let go, and so is the provider', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const { speech, settled } = underWay(Readable.from(Array.from({ length: 100 }, () => megabyte)))
  const body = sendSpeech(speech)
  const closed = new Promise<unknown>((resolve) => body.on('error', resolve))
  await new Promise((resolve) => body.once('readable', resolve))
  vi.advanceTimersByTime(59_000)
  expect(body.destroyed).toBe(false)
  vi.advanceTimersByTime(1_001)
  expect(await closed).toMatchObject({ message: 'the listener has stopped listening' })
  await vi.waitFor(() => expect(settled).toHaveLength(1))
  expect(settled[0]?.[0]).toBe('aborted')
  expect(settled[0]?.[1]).toBeLessThan(5_000_000)
  expect(speech.bytes.destroyed).toBe(true)
})

test('a provider that breaks off is an error of the stream, and is settled as that', async () => {
  async function* broken() {
    yield megabyte
    throw new Error('cut')
  }
  const { speech, settled } = underWay(Readable.from(broken()))
  await expect(sendSpeech(speech).toArray()).rejects.toThrow('cut')
  expect(settled).toEqual([['failed', 1_000_000]])
})

test('a listener to events who is gone is told nothing more', async () => {
  const bytes = new Readable({ read: () => undefined })
  const { speech, settled, leave } = underWay(bytes)
  bytes.push(megabyte)
  const events = speechEvents(speech)
  expect((await events.next()).value).toHaveProperty('data')
  const rest = events.next()
  leave.abort()
  bytes.destroy(new Error('aborted'))
  expect(await rest).toEqual({ done: true, value: undefined })
  expect(settled).toEqual([['aborted', 1_000_000]])
})
