import { once } from 'node:events'
import { Readable } from 'node:stream'

import { expect, test } from 'vitest'

import { sendSpeech, speechEvents, type SpeechUnderWay } from './send-speech.ts'

const megabyte = Buffer.alloc(1_000_000)

const underWay = (bytes: Readable) => {
  const settled: [outcome: string, sentBytes: number][] = []
  const leave = new AbortController()
  const speech: SpeechUnderWay = {
    bytes,
    signal: leave.signal,
    problem: (error) => error,
    writeError: ({ code }) => code,
    settle: async (...ending) => {
      settled.push(ending)
    },
  }
  return { speech, settled, leave }
}

test('a speech is settled before the client sees its end', async () => {
  const { speech, settled } = underWay(Readable.from([megabyte, megabyte]))
  const body = sendSpeech(speech)
  body.on('end', () => settled.push(['seen', 0]))
  await body.toArray()
  expect(settled).toEqual([
    ['completed', 2_000_000],
    ['seen', 0],
  ])
})

test('a disconnect in the middle closes the provider stream and settles the bytes that were sent', async () => {
  const { speech, settled } = underWay(Readable.from(Array.from({ length: 100 }, () => megabyte)))
  const body = sendSpeech(speech)
  await once(body, 'readable')
  body.destroy(new Error('client disconnected'))
  await new Promise((resolve) => body.once('close', resolve))
  expect(settled).toEqual([['aborted', expect.any(Number)]])
  expect(settled[0]?.[1]).toBeLessThan(5_000_000)
  expect(speech.bytes.destroyed).toBe(true)
})

test.each([undefined, new Error('client disconnected')])(
  'a disconnect before the first byte, with %s, settles zero bytes',
  async (error) => {
    const { speech, settled } = underWay(Readable.from([megabyte]))
    const body = sendSpeech(speech)
    body.destroy(error)
    await new Promise((resolve) => body.once('close', resolve))
    expect(settled).toEqual([['aborted', 0]])
    expect(speech.bytes.destroyed).toBe(true)
  },
)

test('events that were never read are settled as well', async () => {
  const { speech, settled } = underWay(Readable.from([megabyte]))
  await speechEvents(speech).return()
  expect(settled).toEqual([['aborted', 0]])
  expect(speech.bytes.destroyed).toBe(true)
})

test('a provider failure is an error of the stream and settles as failed', async () => {
  async function* broken() {
    yield megabyte
    throw new Error('cut')
  }
  const { speech, settled } = underWay(Readable.from(broken()))
  await expect(sendSpeech(speech).toArray()).rejects.toThrow('cut')
  expect(settled).toEqual([['failed', 1_000_000]])
})

test('events end without an error event after a disconnect', async () => {
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
