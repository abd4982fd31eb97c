import { expect, test } from 'vitest'

import { streamSseData } from './sse-data.ts'

async function* cut(text: string, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < text.length; at += size) yield Buffer.from(text.slice(at, at + size))
}

test.each([1, 2, 3, 7, 1000])('only data is yielded, in chunks of %d', async (size) => {
  const text = ': hello\r\nevent: x\r\ndata: {"a":\r\ndata:1}\r\n\r\nid: 1\n\ndata\n\ndatum: 7\ndata: {"b":2}'
  const data: Buffer[] = []
  for await (const chunk of streamSseData(cut(text, size))) data.push(chunk)
  expect(Buffer.concat(data).toString().replaceAll(/\s+/g, ' ')).toBe(' {"a": 1} {"b":2}')
})

test('data is yielded before its line has ended', async () => {
  async function* endless() {
    yield Buffer.from('data: beginning')
    await new Promise(() => {})
  }
  const { value } = await streamSseData(endless()).next()
  expect(value?.toString()).toBe(' beginning')
})
