/** A minimal reader of server-sent events, independent of the code under test. */

export interface ReadEvent {
  id?: string
  event?: string
  retry?: string
  data?: string
}

/** Yields the events of a body as they arrive, without comments. */
export async function* eventsIn(body: ReadableStream<Uint8Array> | null): AsyncGenerator<ReadEvent> {
  let text = ''
  for await (const part of (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream())) {
    const blocks = (text + part).split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const fields = block.split('\n').flatMap((line) => {
        const at = line.indexOf(': ')
        return at > 0 ? [[line.slice(0, at), line.slice(at + 2)]] : []
      })
      if (fields.length > 0) yield Object.fromEntries(fields) as ReadEvent
    }
  }
  if (text !== '') throw new Error(`the stream ended in the middle of ${JSON.stringify(text)}`)
}

export const allEventsIn = async (body: ReadableStream<Uint8Array> | null): Promise<ReadEvent[]> => {
  const events: ReadEvent[] = []
  for await (const event of eventsIn(body)) events.push(event)
  return events
}

/** The next event; throws if the stream has ended. */
export const nextOf = async (events: AsyncGenerator<ReadEvent>): Promise<ReadEvent> => {
  const { value, done } = await events.next()
  if (done === true) throw new Error('the stream has ended')
  return value
}

export const dataOf = ({ data }: ReadEvent): unknown => JSON.parse(data ?? 'null')
