/** How many attempts of invocations the engine has made at a worker, by service. */
import { readFile, rm } from 'node:fs/promises'

import type { FaultStack } from '../../gateway/test/faults/fault-stack.ts'
import { until } from '../../gateway/test/faults/part.ts'
import type { Figures } from './figures.ts'

const counter = new URL('count-invocations.ts', import.meta.url)

/** The environment in which a role counts them, and writes the count to a file when it is asked for it. */
export const countInvocationsIn = (file: string) => ({
  NODE_OPTIONS: `--import ${counter.href}`,
  COUNT_FILE: file,
})

export const invocationsOf = async ({ workers: [worker] }: FaultStack, file: string): Promise<Figures> => {
  const pid = worker.pid()
  if (pid === undefined) throw new Error('the worker is not running')
  await rm(file, { force: true })
  process.kill(pid, 'SIGUSR2')
  let text = ''
  await until('the worker has written its count', async () => {
    text = await readFile(file, 'utf8')
    return true
  })
  return JSON.parse(text) as Figures
}
