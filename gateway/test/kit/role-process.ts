/** One role of the service as a process of its own, as an operator would run it, to be killed and started at will. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

import type { Environment } from '../../src/config.ts'

const program = fileURLToPath(new URL('../../../cli/src/kinora.ts', import.meta.url))

export interface RoleProcess {
  start: () => Promise<void>
  pid: () => number | undefined
  /** Ends it as a crash would: at once, with nothing said. */
  kill: () => Promise<void>
  /** Ends it as an operator would, and answers its exit code. */
  stop: () => Promise<number | null>
}

export const roleProcess = (
  role: 'api' | 'worker' | 'local',
  environment: Environment,
  logFile: string,
): RoleProcess => {
  let child: ChildProcess | undefined
  const end = async (signal: NodeJS.Signals) => {
    const ending = child
    child = undefined
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return null
    const gone = once(ending, 'exit')
    ending.kill(signal)
    const [code] = (await gone) as [number | null]
    return code
  }
  return {
    start: async () => {
      const output = openSync(logFile, 'a')
      const started = spawn(process.execPath, [program, role], {
        env: { PATH: process.env['PATH'], ...environment },
        stdio: ['ignore', output, output, 'ipc'],
      })
      closeSync(output)
      child = started
      await Promise.race([
        once(started, 'message'),
        once(started, 'exit').then(([code]) => {
          throw new Error(`${role} ended with ${code} before it was ready; see ${logFile}`)
        }),
      ])
    },
    pid: () => child?.pid,
    kill: async () => {
      await end('SIGKILL')
    },
    stop: () => end('SIGTERM'),
  }
}
