import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'

import { expect, test } from 'vitest'

import { type FilePart, multipart, UnreadablePart } from './multipart.ts'

const file = (changes: Partial<FilePart> = {}): FilePart => ({
  name: 'input_reference',
  filename: 'a"b.png',
  contentType: 'image/png',
  sizeBytes: 6,
  open: async () => Readable.from([Buffer.from('\x89PN', 'latin1'), Buffer.from('G\r\n')]),
  ...changes,
})

test('fields and files are written exactly, and the length is known in advance', async () => {
  const body = multipart([{ name: 'prompt', value: 'Über\r\n--x' }, file()])
  const boundary = body.contentType.replace('multipart/form-data; boundary=', '')
  const expected = Buffer.concat([
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="prompt"\r\n\r\nÜber\r\n--x\r\n`),
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: form-data; name="input_reference"; filename="a%22b.png"\r\n`,
    ),
    Buffer.from('Content-Type: image/png\r\n\r\n'),
    Buffer.from('\x89PNG\r\n', 'latin1'),
    Buffer.from(`\r\n--${boundary}--\r\n`),
  ])
  const written = Buffer.concat(await body.stream.toArray())
  expect(written.toString('latin1')).toBe(expected.toString('latin1'))
  expect(body.lengthBytes).toBe(expected.length)
})

test('a file of unknown size leaves the length unknown', async () => {
  const body = multipart([{ name: 'a', value: 'b' }, file({ sizeBytes: undefined }), file()])
  expect(body.lengthBytes).toBeUndefined()
  expect(await text(body.stream)).toContain('PNG')
})

test('a large file is read with backpressure', async () => {
  let producedBytes = 0
  const chunk = Buffer.alloc(64 * 1024)
  async function* produce() {
    for (let count = 0; count < 160; count += 1) {
      producedBytes += chunk.length
      yield chunk
    }
  }
  const body = multipart([
    file({ sizeBytes: 160 * chunk.length, open: async () => Readable.from(produce()) }),
  ])
  let readBytes = 0
  let mostAheadBytes = 0
  for await (const chunk of body.stream as AsyncIterable<Buffer>) {
    readBytes += chunk.length
    mostAheadBytes = Math.max(mostAheadBytes, producedBytes - readBytes)
  }
  expect(readBytes).toBe(body.lengthBytes)
  expect(mostAheadBytes).toBeLessThan(3 * 1024 * 1024)
})

test.each([
  ['too short', { sizeBytes: 7 }],
  ['too long', { sizeBytes: 5 }],
  ['gone', { open: () => Promise.reject(new Error('/data/secret/path')) }],
])('a file that is %s ends the body', async (_what, changes) => {
  const body = multipart([file(changes)])
  await expect(body.stream.toArray()).rejects.toThrow(UnreadablePart)
})

test('destroying the body closes the open file', async () => {
  const source = new Readable({ read() {} })
  source.push('abc')
  const body = multipart([file({ open: async () => source })])
  body.stream.resume()
  await new Promise((resolve) => setImmediate(resolve))
  source.push('def')
  source.push(null)
  body.stream.destroy()
  await expect.poll(() => source.destroyed).toBe(true)
})
