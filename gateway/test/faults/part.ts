/** One process of the stack, which can be killed, paused and started again. It ends with the process of the test. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

import { endingWithUs } from '../../../cli/src/dev/foreign-process.ts'
import type { Environment } from '../../src/config.ts'

export interface Part {
  name: string
  pid: () => number | undefined
  /** Returns once the process is ready. It keeps the additional environment when it is started again after a crash. */
  start: (more?: Environment) => Promise<void>
  /** Sends a signal that ends the process, and waits for its end. */
  kill: (signal?: NodeJS.Signals) => Promise<void>
  pause: () => void
  resume: () => void
}

export interface PartOptions {
  name: string
  line: readonly [command: string, ...rest: string[]]
  environment: Environment
  logDirectory: string
  workingDirectory?: string
  owner?: { uid: number; gid: number } | undefined
  /** Opens an IPC channel to the process. */
  hasChannel?: boolean
  untilReady: (child: ChildProcess) => Promise<unknown>
  /** Called if the process ends although no fault has ended it. It is then started again, as by a supervisor. */
  onCrash?: (reason: string) => void
}

const restartAfterMs = 500
const readyWithinMs = 90_000

/** Polls until the condition holds; errors count as "not yet". */
export const until = async (
  what: string,
  holds: () => boolean | Promise<boolean>,
  { withinMs = readyWithinMs, everyMs = 50 } = {},
): Promise<void> => {
  const deadlineMs = performance.now() + withinMs
  let last: unknown
  for (;;) {
    try {
      if (await holds()) return
    } catch (error) {
      last = error
    }
    if (performance.now() > deadlineMs) {
      throw new Error(`waited ${withinMs} ms in vain until ${what}`, { cause: last })
    }
    await sleep(everyMs)
  }
}

export const createPart = (options: PartOptions): Part => {
  const { name, environment, logDirectory, workingDirectory, owner, hasChannel = false, onCrash } = options
  const [command, ...rest] = endingWithUs(options.line, 'SIGKILL', environment)
  let running: ChildProcess | undefined
  let isWanted = false
  let restarting: Promise<void> | undefined
  let additional: Environment = {}

  const launch = async () => {
    const output = openSync(join(logDirectory, `${name}.log`), 'a')
    const child = spawn(command, rest, {
      env: { ...environment, ...additional },
      stdio: ['ignore', output, output, ...(hasChannel ? (['ipc'] as const) : [])],
      ...(workingDirectory !== undefined && { cwd: workingDirectory }),
      ...owner,
    })
    closeSync(output)
    running = child
    let isReady = false
    const ended = new Promise<never>((_resolve, reject) => {
      child.once('error', reject).once('exit', (code, signal) => {
        if (running === child) running = undefined
        const reason = `${name} ended by itself with ${code ?? signal}`
        if (isWanted && isReady) restarting = restart(reason)
        reject(new Error(`${reason}; see ${logDirectory}/${name}.log`))
      })
    })
    ended.catch(() => undefined)
    await Promise.race([options.untilReady(child), ended])
    isReady = true
  }

  const restart = async (reason: string) => {
    onCrash?.(reason)
    while (isWanted && running === undefined) {
      await sleep(restartAfterMs)
      // It fails as long as a service that it needs is away.
      if (isWanted) await launch().catch(() => undefined)
    }
  }

  const send = (signal: NodeJS.Signals) => {
    if (running?.kill(signal) !== true) throw new Error(`${name} is not running`)
  }

  return {
    name,
    pid: () => running?.pid,
    start: async (more = {}) => {
      isWanted = true
      additional = more
      await restarting
      if (running === undefined) await launch()
    },
    kill: async (signal = 'SIGKILL') => {
      isWanted = false
      const child = running
      if (child === undefined) return
      const exited = once(child, 'exit')
      child.kill(signal)
      await exited
    },
    pause: () => send('SIGSTOP'),
    resume: () => send('SIGCONT'),
  }
}
