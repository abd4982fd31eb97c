import { Readable } from 'node:stream'

/**
 * A stream over a generator that reads `source`. Destroying it destroys the source at once, where `Readable.from` would
 * first wait for the generator's next bytes, which may never come.
 */
export function derivedStream(source: Readable, chunks: AsyncGenerator<Buffer, void, undefined>): Readable {
  return new Readable({
    highWaterMark: 64 * 1024,
    read() {
      chunks.next().then(
        ({ done, value }) => this.push(done === true ? null : value),
        (error: unknown) => this.destroy(error as Error),
      )
    },
    destroy: (error, callback) => {
      source.destroy()
      callback(error)
    },
  })
}
