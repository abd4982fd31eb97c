import { chunksAhead, type FromModel, type ToModel } from './inference-message.ts'

/** A failure whose code and words may be shown to whoever asked. */
export class RefusedTask extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.name = 'RefusedTask'
    this.code = code
  }
}

/**
 * The model's side, to be called once by the program of its process. Runs one task after the other, and waits before
 * each further piece until its reader has room.
 */
export function serveInference<Task, Piece>(
  run: (task: Task, signal: AbortSignal) => AsyncIterable<Piece>,
): void {
  const running = new Map<number, { stop: AbortController; room: number; wake: () => void }>()
  const send = (message: FromModel<Piece>) => process.send?.(message)

  async function work(id: number, task: Task): Promise<void> {
    const state = { stop: new AbortController(), room: chunksAhead, wake: () => {} }
    const { signal } = state.stop
    running.set(id, state)
    try {
      for await (const chunk of run(task, signal)) {
        while (state.room === 0 && !signal.aborted) {
          await new Promise<void>((resolve) => (state.wake = resolve))
        }
        if (signal.aborted) break
        state.room--
        send({ type: 'chunk', run: id, chunk })
      }
      send({ type: 'end', run: id })
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      const code = error instanceof RefusedTask ? error.code : undefined
      send(signal.aborted ? { type: 'end', run: id } : { type: 'failed', run: id, message, code })
    } finally {
      running.delete(id)
    }
  }

  process.on('message', (message: ToModel<Task>) => {
    if (message.type === 'run') {
      void work(message.run, message.task)
      return
    }
    const state = running.get(message.run)
    if (state === undefined) return
    if (message.type === 'more') state.room++
    else state.stop.abort()
    state.wake()
  })
  // Nobody is left to work for.
  process.on('disconnect', () => process.exit(0))
}
