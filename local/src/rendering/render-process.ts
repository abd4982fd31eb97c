import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

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

/** A render that was told to stop has this long to end its ffmpeg; one deep in a picture cannot listen. */
const stopMs = 1000

const entry = fileURLToPath(new URL('render-job.ts', import.meta.url))

/** Renders in a process of its own, so that stopping is killing and no picture ever blocks the server. */
export function startRenderProcess(task: RenderTask, onProgress: (percent: number) => void): RenderProcess {
  const child = fork(entry, [], {
    execPath: process.execPath,
    execArgv: [],
    env: {},
    // A process group of its own, so that a kill reaches ffmpeg as well.
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let stopped = false
  let stopping: NodeJS.Timeout | undefined
  let report: RenderOutcome | undefined
  let errors = ''

  function killGroup(): void {
    if (child.pid === undefined) return
    try {
      process.kill(-child.pid, 'SIGKILL')
    } catch {
      // Nobody is left in the group, which is what we wanted.
    }
  }

  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-4000)
  })
  child.on('message', (message) => {
    const told = message as RenderMessage
    if (told.type === 'progress') onProgress(told.percent)
    else report = told
  })
  const outcome = new Promise<RenderOutcome>((resolve) => {
    const end = (detail: string) => {
      clearTimeout(stopping)
      // A child that died without a word may have left its ffmpeg behind.
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
    child.once('error', (error) => end(error.message))
    child.once('close', (code, signal) => end(`ended with ${signal ?? code}: ${errors.trim()}`))
  })
  child.send(task, () => {
    // A child that is already gone reports itself through 'close'.
  })
  return {
    outcome,
    stop() {
      stopped = true
      child.kill('SIGTERM')
      stopping = setTimeout(killGroup, stopMs)
    },
  }
}
