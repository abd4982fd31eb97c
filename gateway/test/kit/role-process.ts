/** Runs one role of the service as a separate process that tests can kill and restart. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'

import { inject } from 'vitest'

import type { Environment } from '../../src/config.ts'

export interface RoleProcess {
  start: () => Promise<void>
  /** Starts another version of the command. */
  startVersion: (command: string) => Promise<void>
  pid: () => number | undefined
  /** Sends SIGKILL. */
  kill: () => Promise<void>
  /** Sends SIGTERM and returns the exit code. */
  stop: () => Promise<number | null>
}

export const roleProcess = (
  role: 'api' | 'worker' | 'local',
  environment: Environment,
  logFile: string,
  /** The program and its arguments for a version of the command; the role is added. */
  lineOf: (command: string) => [string, ...string[]] = (command) => [process.execPath, command],
): RoleProcess => {
  let child: ChildProcess | undefined
  const end = async (signal: NodeJS.Signals) => {
    const ending = child
    child = undefined
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return null
    const exit = once(ending, 'exit')
    ending.kill(signal)
    const [code] = (await exit) as [number | null]
    return code
  }
  const startVersion = async (command: string) => {
    const output = openSync(logFile, 'a')
    const [program, ...given] = lineOf(command)
    const started = spawn(program, [...given, role], {
      env: { PATH: process.env['PATH'], ...environment },
      stdio: ['ignore', output, output, 'ipc'],
    })
    closeSync(output)
    child = started
    await Promise.race([
      once(started, 'message'),
      once(started, 'exit').then(([code]) => {
        throw new Error(`${role} exited with ${code} before it was ready; see ${logFile}`)
      }),
    ])
  }
  return {
    start: () => startVersion(inject('command')),
    startVersion,
    pid: () => child?.pid,
    kill: async () => {
      await end('SIGKILL')
    },
    stop: () => end('SIGTERM'),
  }
}
