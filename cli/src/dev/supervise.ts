import type { ChildProcess } from 'node:child_process'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { join } from 'node:path'

import { boundLog, lastLines, sizeOf } from './log-file.ts'

const firstDelayMs = 200
const longestDelayMs = 5_000
const healthyAfterMs = 10_000
const exitsBeforeGivingUp = 30
const boundLogEveryMs = 60_000

interface SuperviseOptions {
  /** Names the process in messages and its log file, `<logDirectory>/<name>.log`. */
  name: string
  logDirectory: string
  /** Starts the process. `output` is the descriptor of the log file for its stdout and stderr. */
  start: (output: number) => ChildProcess
  /** Receives one line for every unexpected exit. */
  log: (message: string) => void
  /** Called once, when the process has exited thirty times in a row within ten seconds of its start. */
  onGaveUp?: (reason: string) => void
}

export interface Supervised {
  name: string
  logFile: string
  /** The id of the running process, or undefined between an exit and the next start. */
  pid(): number | undefined
  /** The running process, for its IPC channel. */
  child(): ChildProcess | undefined
  /** The last lines that the process wrote in this run. */
  lastLines(): string
  gaveUp(): boolean
  /** Stops the process and waits for its exit. Kills it if it does not exit within the grace period. */
  stop(signal?: NodeJS.Signals, graceMs?: number): Promise<void>
}

/** Runs one child process and restarts it whenever it exits, until it is stopped. */
export function supervise({ name, logDirectory, start, log, onGaveUp }: SuperviseOptions): Supervised {
  mkdirSync(logDirectory, { recursive: true })
  const logFile = join(logDirectory, `${name}.log`)
  boundLog(logFile)
  const earlierBytes = sizeOf(logFile)
  const bounding = setInterval(() => boundLog(logFile), boundLogEveryMs).unref()

  let running: ChildProcess | undefined
  let exited: Promise<void> = Promise.resolve()
  let nextStart: NodeJS.Timeout | undefined
  let stopping: Promise<void> | undefined
  let gaveUp = false
  let earlyExits = 0

  function launch(): void {
    nextStart = undefined
    const startedAt = performance.now()
    const output = openSync(logFile, 'a', 0o600)
    let child: ChildProcess
    try {
      child = start(output)
    } catch (error) {
      handleExit(String(error), startedAt)
      return
    } finally {
      // The child has its own copy of the descriptor.
      closeSync(output)
    }
    running = child
    exited = new Promise((resolve) => {
      const end = (reason: string): void => {
        if (running !== child) return
        running = undefined
        resolve()
        handleExit(reason, startedAt)
      }
      child.once('exit', (code, signal) => {
        end(signal === null ? `exit code ${code}` : signal)
      })
      // A process that failed to start emits no exit event. Other errors, such as a failed message, are not an exit.
      child.on('error', (error) => {
        if (child.pid === undefined) end(error.message)
      })
    })
  }

  function handleExit(reason: string, startedAt: number): void {
    if (stopping !== undefined) return
    earlyExits = performance.now() - startedAt < healthyAfterMs ? earlyExits + 1 : 1
    if (earlyExits >= exitsBeforeGivingUp) {
      gaveUp = true
      const summary = `${name} keeps exiting (${reason}). See ${logFile}.`
      log(summary)
      onGaveUp?.(summary)
      return
    }
    const delayMs = Math.min(longestDelayMs, firstDelayMs * 2 ** (earlyExits - 1))
    log(`${name} exited (${reason}). Restarting it in ${delayMs} ms.`)
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
    await exited
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
