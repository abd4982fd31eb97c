/** How a stream of events is read, however its bytes arrive. */
import { expect, test } from 'vitest'

import { readEvents } from './event-stream.ts'

const readAll = async (parts: Uint8Array[]) => {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
  const events = []
  for await (const event of readEvents(body)) events.push(event)
  return events
}

const bytesOf = (text: string) => new TextEncoder().encode(text)
const byteByByte = (text: string) => Array.from(bytesOf(text), (byte) => Uint8Array.of(byte))

test.for(['\n', '\r\n'])('an event is the same however its bytes arrive, with %j', async (end) => {
  const text = ['id: 7', 'event: progress', 'data: 🐋 ü', 'data: second', '', ': comment', '', ''].join(end)
  const expected = [{ id: '7', event: 'progress', data: '🐋 ü\nsecond' }, {}]
  expect(await readAll([bytesOf(text)])).toEqual(expected)
  expect(await readAll(byteByByte(text))).toEqual(expected)
})

test('line separators of Unicode in a prompt do not hide its event', async () => {
  const data = JSON.stringify({ prompt: 'first\u2028second\u2029third' })
  expect(await readAll([bytesOf(`data: ${data}\n\n`)])).toEqual([{ data }])
})

test('a waiting time that is not a number, or has no end, is ignored', async () => {
  const events = await readAll([bytesOf('retry: soon\n\nretry:\n\nretry: 99999999999\n\nretry: 250\n\n')])
  expect(events).toEqual([{}, {}, { retryMs: 60_000 }, { retryMs: 250 }])
})

test('a large event may arrive in many parts', async () => {
  const parts = Array.from({ length: 20_000 }, () => bytesOf('x'.repeat(1_000)))
  const [event] = await readAll([bytesOf('data: '), ...parts, bytesOf('\n\n')])
  expect(event?.data).toHaveLength(20_000_000)
})

test('an event without an end is refused instead of collected', async () => {
  let sent = 0
  const part = bytesOf('x'.repeat(1_000_000))
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      sent += 1
      controller.enqueue(part)
    },
  })
  await expect(readEvents(body).next()).rejects.toMatchObject({ code: 'invalid_response' })
  expect(sent).toBeLessThan(200)
})
