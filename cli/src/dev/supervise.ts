import type { ChildProcess } from 'node:child_process'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'

import { boundLog, lastLines, sizeOf } from './log-file.ts'

const firstDelayMs = 200
const longestDelayMs = 5_000
const healthyLifeMs = 10_000
const endsBeforeGivingUp = 30
const boundLogEveryMs = 60_000

interface SuperviseOptions {
  /** Names the process in messages and its log file, `<logDirectory>/<name>.log`. */
  name: string
  logDirectory: string
  /** Starts the process once; `output` is the descriptor of the log file for its stdout and stderr. */
  start: (output: number) => ChildProcess
  /** Told in one line about every unexpected end. */
  log: (message: string) => void
  /** Told once when the process ended thirty times in a row without ever living ten seconds. */
  onGaveUp?: (reason: string) => void
}

export interface Supervised {
  name: string
  logFile: string
  /** The id of the running process; undefined between an end and the next start. */
  pid(): number | undefined
  /** The running process, for its IPC channel. */
  child(): ChildProcess | undefined
  /** The end of what it wrote in this run. */
  lastLines(): string
  /** Whether it was given up. */
  gaveUp(): boolean
  /** Ends the process and waits until it is gone; what did not end within the grace is killed. */
  stop(signal?: NodeJS.Signals, graceMs?: number): Promise<void>
}

/** Keeps one child process running until it is stopped. */
export function supervise({ name, logDirectory, start, log, onGaveUp }: SuperviseOptions): Supervised {
  mkdirSync(logDirectory, { recursive: true })
  const logFile = join(logDirectory, `${name}.log`)
  boundLog(logFile)
  const earlierBytes = sizeOf(logFile)
  const bounding = setInterval(() => boundLog(logFile), boundLogEveryMs).unref()

  let running: ChildProcess | undefined
  let gone: Promise<void> = Promise.resolve()
  let nextStart: NodeJS.Timeout | undefined
  let stopping: Promise<void> | undefined
  let gaveUp = false
  let shortLives = 0

  function launch(): void {
    nextStart = undefined
    const startedAt = performance.now()
    const output = openSync(logFile, 'a', 0o600)
    let child: ChildProcess
    try {
      child = start(output)
    } catch (error) {
      ended(String(error), startedAt)
      return
    } finally {
      // The child has its own copy of the descriptor.
      closeSync(output)
    }
    running = child
    gone = new Promise((resolve) => {
      const end = (reason: string): void => {
        if (running !== child) return
        running = undefined
        resolve()
        ended(reason, startedAt)
      }
      child.once('exit', (code, signal) => {
        end(signal === null ? `exit code ${code}` : signal)
      })
      // A process that could not be started has no exit event; a failed message or signal is no end.
      child.on('error', (error) => {
        if (child.pid === undefined) end(error.message)
      })
    })
  }

  function ended(reason: string, startedAt: number): void {
    if (stopping !== undefined) return
    shortLives = performance.now() - startedAt < healthyLifeMs ? shortLives + 1 : 1
    if (shortLives >= endsBeforeGivingUp) {
      gaveUp = true
      const summary = `${name} keeps ending (${reason}), see ${logFile}`
      log(summary)
      onGaveUp?.(summary)
      return
    }
    const delayMs = Math.min(longestDelayMs, firstDelayMs * 2 ** (shortLives - 1))
    log(`${name} ended (${reason}), starting it again in ${delayMs} ms`)
    nextStart = setTimeout(launch, delayMs)
  }

  async function end(signal: NodeJS.Signals, graceMs: number): Promise<void> {
    clearTimeout(nextStart)
    clearInterval(bounding)
    const child = running
    if (child === undefined) return
    child.kill(signal)
    const kill = setTimeout(() => {
      child.kill('SIGKILL')
    }, graceMs)
    await gone
    clearTimeout(kill)
  }

  launch()

  return {
    name,
    logFile,
    pid: () => running?.pid,
    child: () => running,
    lastLines: () => lastLines(logFile, earlierBytes),
    gaveUp: () => gaveUp,
    stop(signal = 'SIGTERM', graceMs = 5_000) {
      stopping ??= end(signal, graceMs)
      return stopping
    },
  }
}
