import { Readable } from 'node:stream'

/** Copies the body of a request, but fails instead of giving out a chunk from this time of `performance.now()` on. */
export function timelyBody(body: Readable, deadlineMs: number): Readable {
  async function* chunks(): AsyncGenerator<Buffer> {
    // The client begins to read when the connection is ready, and sends the headers with the first chunk.
    assertInTime(deadlineMs)
    for await (const chunk of body as AsyncIterable<Buffer>) {
      assertInTime(deadlineMs)
      yield chunk
    }
  }
  return Readable.from(chunks(), { objectMode: false })
}

function assertInTime(deadlineMs: number): void {
  if (performance.now() >= deadlineMs) throw new DOMException('too late to send', 'TimeoutError')
}
