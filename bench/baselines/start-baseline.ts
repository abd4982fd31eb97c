/** Starts a baseline in a process of its own, which sends a message when it is ready and one for every answer. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface Baseline extends Disposable {
  pid: number | undefined
  /** Sends a message and waits for the answer. */
  ask: (message: number) => Promise<void>
}

export const startBaseline = async (name: string, given: string[]): Promise<Baseline> => {
  const child = fork(fileURLToPath(new URL(`${name}.ts`, import.meta.url)), given, { execArgv: [] })
  const ended = once(child, 'exit').then(() => {
    throw new Error(`${name} ended early`)
  })
  ended.catch(() => undefined)
  const nextMessage = () => Promise.race([once(child, 'message'), ended])
  await nextMessage()
  return {
    pid: child.pid,
    ask: async (message) => {
      const answer = nextMessage()
      child.send(message)
      await answer
    },
    [Symbol.dispose]: () => {
      child.kill('SIGKILL')
    },
  }
}
