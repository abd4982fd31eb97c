import { Readable } from 'node:stream'

/**
 * What is made of a stream's bytes, as a stream. Dropping it drops the source at once; a plain stream over the making
 * would wait for bytes first, which may never come.
 */
export function derivedStream(source: Readable, making: AsyncGenerator<Buffer, void, undefined>): Readable {
  return new Readable({
    highWaterMark: 64 * 1024,
    read() {
      making.next().then(
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
