/** How many attempts of invocations the engine has made at a worker, by service. */
import type { FaultStack } from '../../gateway/test/faults/fault-stack.ts'
import { askProcess } from './ask-process.ts'
import type { Figures } from './figures.ts'

const counter = new URL('count-invocations.ts', import.meta.url)

/** The environment in which a role counts them, and writes the count to a file when it is asked for it. */
export const countInvocationsIn = (file: string) => ({
  NODE_OPTIONS: `--import ${counter.href}`,
  COUNT_FILE: file,
})

export const invocationsOf = async ({ workers: [worker] }: FaultStack, file: string): Promise<Figures> =>
  JSON.parse(await askProcess(worker.pid(), file)) as Figures
