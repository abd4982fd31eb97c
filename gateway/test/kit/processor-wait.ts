import { readFileSync } from 'node:fs'

/**
 * Returns a function that tells how many times longer the main thread of a process took since now than the processor time
 * it used, because other processes had the processors. It is 1 on an idle machine.
 */
export const startProcessorWait = (pid: number): (() => number) => {
  const read = () => {
    const [runNs = 0, waitNs = 0] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8')
      .split(' ')
      .map(Number)
    return { runNs, waitNs }
  }
  const before = read()
  return () => {
    const { runNs, waitNs } = read()
    return 1 + (waitNs - before.waitNs) / Math.max(1, runNs - before.runNs)
  }
}
