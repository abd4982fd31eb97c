import { withFinalizer } from '../platform/streams/with-finalizer.ts'

/**
 * Copies a stream while it is read, so that it can be stored. A reader that stops early does not end it: the rest is
 * read for the replay, as long as it is small enough to be stored.
 */
export interface Tee<Chunk> {
  chunks: AsyncIterator<Chunk>
  sizeOf: (chunk: Chunk) => number
  sizeMax: number
  /** Ends the source. */
  stop: () => void
  /** The source ended; `chunks` is undefined if it was too large to store. */
  onEnd: (chunks: Chunk[] | undefined) => Promise<void>
  /** The source failed or was stopped. */
  onBroken: () => Promise<void>
}

export const teeStream = <Chunk>(tee: Tee<Chunk>): AsyncGenerator<Chunk, void, undefined> => {
  const { chunks, sizeOf, sizeMax, stop, onEnd, onBroken } = tee
  let copied: Chunk[] | undefined = []
  let size = 0
  let isOver = false

  const next = async (): Promise<IteratorResult<Chunk>> => {
    try {
      const step = await chunks.next()
      if (step.done === true) {
        isOver = true
        await onEnd(copied)
        return step
      }
      size += sizeOf(step.value)
      if (size > sizeMax) copied = undefined
      else copied?.push(step.value)
      return step
    } catch (error) {
      isOver = true
      await onBroken()
      throw error
    }
  }
  const readRest = async () => {
    while (!isOver && copied !== undefined) await next()
    if (isOver) return
    stop()
    await onBroken()
  }

  async function* relayed(): AsyncGenerator<Chunk, void, undefined> {
    for (let step = await next(); step.done !== true; step = await next()) yield step.value
  }
  return withFinalizer(relayed(), async () => {
    // Runs in the background; a failure has already reached onBroken.
    if (!isOver) readRest().catch(() => undefined)
  })
}
