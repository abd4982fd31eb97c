import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

import type { Log } from '../log.ts'
import type { FromModel, ToModel } from './inference-message.ts'
import { createRequestQueue } from './request-queue.ts'

/** The process of a model failed a task. `code` is set if code and message may be shown to the client. */
export class InferenceFailure extends Error {
  readonly code: string | undefined

  constructor(message: string, code?: string) {
    super(message)
    this.name = 'InferenceFailure'
    this.code = code
  }
}

/** Too many tasks are waiting for this model. */
export class InferenceBusy extends Error {}

export interface InferenceOptions {
  /** Appears in log events and error messages. */
  name: string
  /** The module that the process runs. It calls `serveInference`. */
  program: URL
  /** How many tasks may wait. */
  mostWaiting: number
  /** The process ends after this time without a task, which frees the memory of the model. */
  idleMs: number
  /** A process that has a task and sends nothing for this time is killed. */
  standstillMs?: number
  log: Log
}

/** A model in its own process, which starts with the first task. Tasks run one after the other. */
export interface Inference<Task, Chunk> {
  /**
   * Yields chunks as the model produces them. Leaving the loop or aborting the signal stops the run at once. The next
   * task starts when the model has confirmed the end of this one.
   */
  run: (task: Task, signal: AbortSignal) => AsyncGenerator<Chunk, void, undefined>
  /** Ends the process. Running and waiting tasks fail, and later ones are rejected. */
  close: () => Promise<void>
}

interface Running<Chunk> {
  model: ChildProcess
  chunks: Chunk[]
  ended: boolean
  failure: Error | undefined
  wake: () => void
}

const defaultStandstillMs = 300_000

export function createInference<Task, Chunk>(options: InferenceOptions): Inference<Task, Chunk> {
  const { name, log, standstillMs = defaultStandstillMs } = options
  const queue = createRequestQueue(options.mostWaiting)
  const running = new Map<number, Running<Chunk>>()
  const alive = new Map<ChildProcess, Promise<void>>()
  let current: ChildProcess | undefined
  let idle: NodeJS.Timeout | undefined
  let runs = 0
  let closed = false

  function start(): ChildProcess {
    clearTimeout(idle)
    if (current?.connected === true) return current
    const begun = performance.now()
    const child = fork(fileURLToPath(options.program), {
      execArgv: [],
      env: {},
      serialization: 'advanced',
      // What libraries write to stderr may quote the text.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    })
    current = child
    log('local.model_started', { model: name, pid: child.pid })
    child.on('message', (message: FromModel<Chunk>) => receive(message))
    const exited = new Promise<void>((resolve) => {
      const end = (outcome: string) => {
        if (current === child) current = undefined
        alive.delete(child)
        const afterMs = Math.round(performance.now() - begun)
        log('local.model_ended', { model: name, outcome, afterMs })
        for (const state of running.values()) {
          if (state.model !== child || state.ended) continue
          state.failure = new InferenceFailure(`The process of ${name} ended with ${outcome}.`)
          state.ended = true
          state.wake()
        }
        resolve()
      }
      child.once('error', (error) => child.pid === undefined && end(`error ${error.message}`))
      child.once('close', (code, signal) => end(code === null ? `signal ${signal}` : `exit ${code}`))
    })
    alive.set(child, exited)
    return child
  }

  function stopIdle(): void {
    current?.kill()
    // The next task starts a new process instead of using one that is about to end.
    current = undefined
  }

  function receive(message: FromModel<Chunk>): void {
    const state = running.get(message.run)
    if (state === undefined) return
    if (message.type === 'chunk') state.chunks.push(message.chunk)
    else state.ended = true
    if (message.type === 'failed') state.failure = new InferenceFailure(message.message, message.code)
    state.wake()
  }

  async function nextMessage(state: Running<Chunk>): Promise<void> {
    const standstill = setTimeout(() => {
      log('local.model_hung', { model: name, pid: state.model.pid }, 'warn')
      state.model.kill('SIGKILL')
    }, standstillMs)
    try {
      await new Promise<void>((resolve) => (state.wake = resolve))
    } finally {
      clearTimeout(standstill)
    }
  }

  async function* run(task: Task, signal: AbortSignal): AsyncGenerator<Chunk, void, undefined> {
    signal.throwIfAborted()
    const acquired = queue.acquire(signal)
    if (acquired === undefined)
      throw new InferenceBusy(`Too many tasks are waiting for ${name}. Try again later.`)
    const release = await acquired
    if (closed || signal.aborted) release()
    signal.throwIfAborted()
    if (closed) throw new InferenceFailure(`The process of ${name} was closed.`)
    const id = ++runs
    const model = start()
    const state: Running<Chunk> = { model, chunks: [], ended: false, failure: undefined, wake: () => {} }
    running.set(id, state)
    const send = (message: ToModel<Task>) => {
      // If the process has just ended, its exit event fails the run.
      if (model.connected) model.send(message, () => {})
    }
    const onAbort = () => state.wake()
    signal.addEventListener('abort', onAbort)
    try {
      send({ type: 'run', run: id, task })
      for (;;) {
        signal.throwIfAborted()
        const chunk = state.chunks.shift()
        if (chunk !== undefined) {
          send({ type: 'more', run: id })
          yield chunk
        } else if (state.failure !== undefined) throw state.failure
        else if (state.ended) return
        else await nextMessage(state)
      }
    } finally {
      signal.removeEventListener('abort', onAbort)
      if (!state.ended) send({ type: 'stop', run: id })
      void afterLast(id, state).then(release)
    }
  }

  async function afterLast(id: number, state: Running<Chunk>): Promise<void> {
    while (!state.ended) await nextMessage(state)
    running.delete(id)
    clearTimeout(idle)
    idle = setTimeout(stopIdle, options.idleMs)
    idle.unref()
  }

  return {
    run,
    close: async () => {
      closed = true
      clearTimeout(idle)
      for (const child of alive.keys()) child.kill('SIGKILL')
      await Promise.all(alive.values())
    },
  }
}
