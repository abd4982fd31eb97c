import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

import { placeOf } from '../ffmpeg/render-failure.ts'
import type { RenderTask } from '../film/render-film.ts'
import type { RenderMessage } from './render-job.ts'

type RenderOutcome =
  | { type: 'rendered' }
  | { type: 'stopped' }
  | { type: 'failed'; code: string; message: string; detail: string | undefined }

export interface RenderProcess {
  outcome: Promise<RenderOutcome>
  stop(): void
}

/** Time for a render to end its ffmpeg before it is killed; while it draws a frame it cannot handle signals. */
const stopTimeoutMs = 1000

const entry = fileURLToPath(new URL('render-job.ts', import.meta.url))

/** Renders in a separate process, so that a render can be killed and does not block the server. */
export function startRenderProcess(task: RenderTask, onProgress: (percent: number) => void): RenderProcess {
  const child = fork(entry, [], {
    execPath: process.execPath,
    execArgv: [],
    env: {},
    // A separate process group, so that a kill reaches every process that it starts. Those in the sandbox end with it.
    detached: true,
    // What libraries write to stderr may quote the prompt.
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  })
  let stopped = false
  let killTimer: NodeJS.Timeout | undefined
  let report: RenderOutcome | undefined

  function killGroup(): void {
    if (child.pid === undefined) return
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // The group has already ended.
    }
  }

  child.on('message', (message) => {
    const received = message as RenderMessage
    if (received.type === 'progress') onProgress(received.percent)
    else report = received
  })
  const outcome = new Promise<RenderOutcome>((resolve) => {
    const end = (detail: string) => {
      clearTimeout(killTimer)
      // A child that ended without a report may have left its ffmpeg running.
      if (report === undefined) killGroup()
      if (stopped) resolve({ type: 'stopped' })
      else
        resolve(
          report ?? {
            type: 'failed',
            code: 'upstream_error',
            message: 'The render ended unexpectedly.',
            detail,
          },
        )
    }
    child.once('error', (error) => end(placeOf(error)))
    child.once('close', (code, signal) => end(`ended with ${signal ?? code}`))
  })
  child.send(task, () => {
    // If the child has already exited, 'close' reports it.
  })
  return {
    outcome,
    stop() {
      stopped = true
      child.kill('SIGTERM')
      killTimer = setTimeout(killGroup, stopTimeoutMs)
    },
  }
}
