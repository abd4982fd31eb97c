import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

import type { Log } from '../log.ts'
import type { FromModel, ToModel } from './inference-message.ts'
import { createTurns } from './request-queue.ts'

/** The model's process failed a task; `code` is set where it said why in words fit for the caller. */
export class InferenceFailure extends Error {
  readonly code: string | undefined

  constructor(message: string, code?: string) {
    super(message)
    this.name = 'InferenceFailure'
    this.code = code
  }
}

/** Too many tasks wait for this model already. */
export class InferenceBusy extends Error {}

export interface InferenceOptions {
  /** For the log. */
  name: string
  /** The program of the process, which calls `serveInference`. */
  program: URL
  /** How many tasks may wait for their turn. */
  mostWaiting: number
  /** After so long without a task the process ends, and with it what the model holds in memory. */
  idleMs: number
  /** A process that says nothing for so long while something is expected of it is taken for hung, and killed. */
  standstillMs?: number
  log: Log
}

/** A model in a process of its own, started with its first task. Tasks have their turns one after the other. */
export interface Inference<Task, Piece> {
  /**
   * Pieces come as they are made. Leaving the loop, or the signal, stops the run at once; the next task's turn comes
   * when the model has let go of this one.
   */
  run: (task: Task, signal: AbortSignal) => AsyncGenerator<Piece, void, undefined>
  /** Ends the process. What runs or waits fails, and nothing runs afterwards. */
  close: () => Promise<void>
}

interface Running<Piece> {
  model: ChildProcess
  chunks: Piece[]
  ended: boolean
  failure: Error | undefined
  wake: () => void
}

const defaultStandstillMs = 300_000
const keptErrorCharacters = 4000

export function createInference<Task, Piece>(options: InferenceOptions): Inference<Task, Piece> {
  const { name, log, standstillMs = defaultStandstillMs } = options
  const turns = createTurns(options.mostWaiting)
  const running = new Map<number, Running<Piece>>()
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
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    current = child
    log('local.model_started', { model: name, pid: child.pid })
    let errors = ''
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      errors = (errors + text).slice(-keptErrorCharacters)
    })
    child.on('message', (message: FromModel<Piece>) => receive(message))
    const gone = new Promise<void>((resolve) => {
      const end = (outcome: string) => {
        if (current === child) current = undefined
        alive.delete(child)
        const afterMs = Math.round(performance.now() - begun)
        log('local.model_ended', { model: name, outcome, afterMs, detail: errors.trim() || undefined })
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
    alive.set(child, gone)
    return child
  }

  function letGo(): void {
    current?.kill()
    // A task that comes now gets a process of its own and not one that is about to end.
    current = undefined
  }

  function receive(message: FromModel<Piece>): void {
    const state = running.get(message.run)
    if (state === undefined) return
    if (message.type === 'chunk') state.chunks.push(message.chunk)
    else state.ended = true
    if (message.type === 'failed') state.failure = new InferenceFailure(message.message, message.code)
    state.wake()
  }

  async function news(state: Running<Piece>): Promise<void> {
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

  async function* run(task: Task, signal: AbortSignal): AsyncGenerator<Piece, void, undefined> {
    signal.throwIfAborted()
    const turn = turns.take(signal)
    if (turn === undefined) throw new InferenceBusy(`Too many tasks wait for ${name}.`)
    const release = await turn
    if (closed || signal.aborted) release()
    signal.throwIfAborted()
    if (closed) throw new InferenceFailure(`The process of ${name} was closed.`)
    const id = ++runs
    const model = start()
    const state: Running<Piece> = { model, chunks: [], ended: false, failure: undefined, wake: () => {} }
    running.set(id, state)
    const tell = (message: ToModel<Task>) => {
      // A process that just ended is told of by its exit.
      if (model.connected) model.send(message, () => {})
    }
    const onAbort = () => state.wake()
    signal.addEventListener('abort', onAbort)
    try {
      tell({ type: 'run', run: id, task })
      for (;;) {
        signal.throwIfAborted()
        const chunk = state.chunks.shift()
        if (chunk !== undefined) {
          tell({ type: 'more', run: id })
          yield chunk
        } else if (state.failure !== undefined) throw state.failure
        else if (state.ended) return
        else await news(state)
      }
    } finally {
      signal.removeEventListener('abort', onAbort)
      if (!state.ended) tell({ type: 'stop', run: id })
      void afterLast(id, state).then(release)
    }
  }

  async function afterLast(id: number, state: Running<Piece>): Promise<void> {
    while (!state.ended) await news(state)
    running.delete(id)
    clearTimeout(idle)
    idle = setTimeout(letGo, options.idleMs)
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
