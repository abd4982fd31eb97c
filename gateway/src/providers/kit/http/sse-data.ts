const lineFeed = 0x0a
const carriageReturn = 0x0d
const field = Buffer.from('data:')

/** The data of server-sent events as it comes: an event may be too long to wait for its end. */
export async function* sentData(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer, void, undefined> {
  let place: 'field' | 'data' | 'other' = 'field'
  /** How much of the field's name the line has had. */
  let matched = 0
  for await (const chunk of source) {
    let at = 0
    while (at < chunk.length) {
      if (place === 'field') {
        const byte = chunk[at] as number
        const isEnd = byte === lineFeed || byte === carriageReturn
        if (isEnd) matched = 0
        else if (byte === field[matched]) matched += 1
        else place = 'other'
        if (matched === field.length) place = 'data'
        at += 1
      } else {
        const end = lineEnd(chunk, at)
        // The end of the line goes along: it parts what would not be parted otherwise, and JSON does not mind.
        if (place === 'data') yield chunk.subarray(at, end + 1)
        if (end < chunk.length) {
          place = 'field'
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
