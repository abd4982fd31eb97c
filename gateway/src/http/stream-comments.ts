/**
 * Comments that keep proxies from closing idle streams. One timer serves all streams. A turn of the event loop writes to some of
 * those that are due and leaves the others to the next turns, so that requests do not wait for thousands of comments.
 */
import type { ServerResponse } from 'node:http'

type Response = Pick<ServerResponse, 'destroyed' | 'writableNeedDrain' | 'write'>

interface CommentedStream {
  /** Something else was written, so the next comment is needed later. */
  noteWrite: () => void
  stop: () => void
}

export interface StreamComments {
  add: (response: Response) => CommentedStream
}

interface Stream {
  response: Response
  /** The tick in which something must be written. */
  dueTick: number
  place: Set<Stream>
}

const tickMs = 1_000
export const silentTicksMax = 12
/** Streams that began together get their comments at different times. */
const jitterTicks = 4
export const writesPerTurn = 100

export const createStreamComments = (): StreamComments => {
  let tick = 0
  let timer: NodeJS.Timeout | undefined
  // Each place is looked at every twelve ticks.
  const places = Array.from({ length: silentTicksMax }, () => new Set<Stream>())
  const placeAt = (at: number): Set<Stream> => places[at % silentTicksMax] ?? new Set()
  const nextDueTick = () => tick + silentTicksMax - Math.floor(Math.random() * jitterTicks)

  /** A stream that was written to since it got its place moves to a later one. */
  const writeIfDue = (stream: Stream, from: Set<Stream>) => {
    const { response } = stream
    if (!from.delete(stream) || response.destroyed) return
    if (stream.dueTick <= tick) {
      // A connection with unsent data needs no comment.
      if (!response.writableNeedDrain) response.write(': ping\n\n')
      stream.dueTick = nextDueTick()
    }
    stream.place = placeAt(stream.dueTick).add(stream)
  }
  const writeSome = (due: Stream[], next: number, from: Set<Stream>) => {
    const end = next + writesPerTurn
    for (const stream of due.slice(next, end)) writeIfDue(stream, from)
    if (end < due.length) setImmediate(writeSome, due, end, from)
  }
  const onTick = () => {
    tick += 1
    const from = placeAt(tick)
    writeSome([...from], 0, from)
    if (places.every(({ size }) => size === 0)) {
      clearInterval(timer)
      timer = undefined
    }
  }

  return {
    add: (response) => {
      const dueTick = nextDueTick()
      const stream: Stream = { response, dueTick, place: placeAt(dueTick) }
      stream.place.add(stream)
      timer ??= setInterval(onTick, tickMs).unref()
      return {
        noteWrite: () => {
          stream.dueTick = nextDueTick()
        },
        stop: () => stream.place.delete(stream),
      }
    },
  }
}
