import { withFinalizer } from '../platform/streams/with-finalizer.ts'

/**
 * Passes a stream on and remembers what went by, so that it can be kept. A reader who leaves before its end does not end
 * it: the rest is taken in for the repeat, as long as it is little enough to be kept.
 */
export interface Passing<Chunk> {
  chunks: AsyncIterator<Chunk>
  sizeOf: (chunk: Chunk) => number
  sizeMax: number
  /** Ends the source, which nobody wants any more. */
  stop: () => void
  /** It came to its end; undefined where it was too much to remember. */
  onEnd: (chunks: Chunk[] | undefined) => Promise<void>
  /** It did not come to its end. */
  onBroken: () => Promise<void>
}

export const passOn = <Chunk>(passing: Passing<Chunk>): AsyncGenerator<Chunk, void, undefined> => {
  const { chunks, sizeOf, sizeMax, stop, onEnd, onBroken } = passing
  let remembered: Chunk[] | undefined = []
  let size = 0
  let isOver = false

  const next = async (): Promise<IteratorResult<Chunk>> => {
    try {
      const step = await chunks.next()
      if (step.done === true) {
        isOver = true
        await onEnd(remembered)
        return step
      }
      size += sizeOf(step.value)
      if (size > sizeMax) remembered = undefined
      else remembered?.push(step.value)
      return step
    } catch (error) {
      isOver = true
      await onBroken()
      throw error
    }
  }
  const takeTheRest = async () => {
    while (!isOver && remembered !== undefined) await next()
    if (isOver) return
    stop()
    await onBroken()
  }

  async function* relayed(): AsyncGenerator<Chunk, void, undefined> {
    for (let step = await next(); step.done !== true; step = await next()) yield step.value
  }
  return withFinalizer(relayed(), async () => {
    // Nobody waits for it, and what goes wrong has been told by then.
    if (!isOver) takeTheRest().catch(() => undefined)
  })
}
