const lineFeed = 0x0a
const carriageReturn = 0x0d
const field = Buffer.from('data:')

/** Yields the data of server-sent events while it arrives, because an event can be too long to buffer. */
export async function* streamSseData(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let state: 'field' | 'data' | 'other' = 'field'
  /** Bytes of the field name matched so far. */
  let matched = 0
  for await (const chunk of source) {
    let at = 0
    while (at < chunk.length) {
      if (state === 'field') {
        const byte = chunk[at] as number
        const isEnd = byte === lineFeed || byte === carriageReturn
        if (isEnd) matched = 0
        else if (byte === field[matched]) matched += 1
        else state = 'other'
        if (matched === field.length) state = 'data'
        at += 1
      } else {
        const end = lineEnd(chunk, at)
        // The line break is included, because it separates events and JSON ignores it.
        if (state === 'data') yield chunk.subarray(at, end + 1)
        if (end < chunk.length) {
          state = 'field'
          matched = 0
        }
        at = end + 1
      }
    }
  }
}

function lineEnd(chunk: Buffer, from: number): number {
  const feed = chunk.indexOf(lineFeed, from)
  const end = feed < 0 ? chunk.length : feed
  const back = chunk.subarray(from, end).indexOf(carriageReturn)
  return back < 0 ? end : from + back
}
