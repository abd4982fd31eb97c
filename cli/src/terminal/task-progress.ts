/**
 * The progress of a task on stderr: one line that is redrawn on a terminal, and a line for each change of stage and for
 * every tenth elsewhere.
 */
import { styleText } from 'node:util'

import { clipText } from './columns.ts'
import { formatRange, formatSeconds } from './format.ts'
import { cleanText } from './print.ts'
import { redrawEveryMs, spinnerFrame } from './spinner.ts'

interface Range {
  min: number
  max: number
}

export interface TaskState {
  status: string
  progress: number
  queue_position?: Range | undefined
  time_left_seconds?: Range | undefined
}

interface Stream {
  isTTY?: boolean
  columns?: number
  write: (text: string) => unknown
}

const barCells = 20

const stages: Record<string, string> = {
  pending: 'Waiting',
  queued: 'Waiting',
  processing: 'Generating',
  in_progress: 'Generating',
  completed: 'Completed',
  failed: 'Failed',
}

const nameStage = ({ status }: TaskState) => stages[status] ?? cleanText(status)

const describeQueue = ({ queue_position: position }: TaskState) =>
  position === undefined ? [] : [position.max === 0 ? 'next' : `${formatRange(position)} before it`]

const describeTimeLeft = ({ time_left_seconds: left }: TaskState) =>
  left === undefined ? [] : [`${formatRange(left, formatSeconds)} left`]

const isGenerating = (state: TaskState) => nameStage(state) === 'Generating'

export const describeState = (state: TaskState): string =>
  [
    nameStage(state),
    ...(isGenerating(state) ? [`${Math.round(state.progress)} %`] : []),
    ...describeQueue(state),
    ...describeTimeLeft(state),
  ].join(' · ')

export interface TaskProgress {
  show: (state: TaskState) => void
  /** Hides the line while something else is on the screen. */
  pause: () => void
  resume: () => void
  /** Removes the line. */
  end: () => void
}

const drawBar = (progress: number) => {
  const full = Math.round((Math.min(100, Math.max(0, progress)) / 100) * barCells)
  return `${styleText('cyan', '█'.repeat(full), { stream: process.stderr })}${styleText('dim', '░'.repeat(barCells - full), { stream: process.stderr })}`
}

const createTerminalProgress = (stream: Stream): TaskProgress => {
  const startedMs = performance.now()
  let state: TaskState | undefined
  let frame = 0
  let isPaused = false
  const draw = () => {
    if (state === undefined || isPaused) return
    frame += 1
    const elapsed = formatSeconds(Math.floor((performance.now() - startedMs) / 1000))
    const bar = isGenerating(state) ? `${drawBar(state.progress)} ` : ''
    const text = `${describeState(state)} · ${elapsed}`
    // A terminal without a size says 0.
    const width = stream.columns === undefined || stream.columns === 0 ? 80 : stream.columns
    const columns = width - 3 - (bar === '' ? 0 : barCells + 1)
    stream.write(`\r\u001B[K${spinnerFrame(frame)} ${bar}${clipText(text, columns)}`)
  }
  const wipe = () => stream.write('\r\u001B[K')
  const timer = setInterval(draw, redrawEveryMs)
  timer.unref()
  return {
    show: (next) => {
      state = next
      draw()
    },
    pause: () => {
      isPaused = true
      wipe()
    },
    resume: () => {
      isPaused = false
    },
    end: () => {
      clearInterval(timer)
      isPaused = true
      wipe()
    },
  }
}

const createPlainProgress = (stream: Stream): TaskProgress => {
  let shown = ''
  return {
    show: (state) => {
      const step = `${nameStage(state)} ${isGenerating(state) ? Math.floor(state.progress / 10) : ''}`
      if (step === shown) return
      shown = step
      stream.write(`${describeState(state)}\n`)
    },
    pause: () => undefined,
    resume: () => undefined,
    end: () => undefined,
  }
}

export const createTaskProgress = (stream: Stream = process.stderr): TaskProgress =>
  stream.isTTY === true ? createTerminalProgress(stream) : createPlainProgress(stream)
