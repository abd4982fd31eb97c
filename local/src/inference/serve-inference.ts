import { chunksAhead, type FromModel, type ToModel } from './inference-message.ts'

/** A failure whose code and message may be shown to the client. */
export class RefusedTask extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.name = 'RefusedTask'
    this.code = code
  }
}

/**
 * The model's side of the protocol, called once by the module of its process. Runs one task after the other. Pauses a
 * task that has no credit for further chunks.
 */
export function serveInference<Task, Chunk>(
  run: (task: Task, signal: AbortSignal) => AsyncIterable<Chunk>,
): void {
  const running = new Map<number, { stop: AbortController; credit: number; wake: () => void }>()
  const send = (message: FromModel<Chunk>) => process.send?.(message)

  async function work(id: number, task: Task): Promise<void> {
    const state = { stop: new AbortController(), credit: chunksAhead, wake: () => {} }
    const { signal } = state.stop
    running.set(id, state)
    try {
      for await (const chunk of run(task, signal)) {
        while (state.credit === 0 && !signal.aborted) {
          await new Promise<void>((resolve) => (state.wake = resolve))
        }
        if (signal.aborted) break
        state.credit--
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
    if (message.type === 'more') state.credit++
    else state.stop.abort()
    state.wake()
  })
  // The parent process has ended.
  process.on('disconnect', () => process.exit(0))
}
