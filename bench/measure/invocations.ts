/** How many attempts of invocations the engine has made at the running workers, by service. */
import type { FaultStack } from '../../gateway/test/faults/fault-stack.ts'
import { askProcess } from './ask-process.ts'
import type { Figures } from './figures.ts'

const counter = new URL('count-invocations.ts', import.meta.url)

/** The environment in which a role counts them, and writes the count to a file when it is asked for it. */
export const countInvocationsIn = (file: string) => ({
  NODE_OPTIONS: `--import ${counter.href}`,
  COUNT_FILE: file,
})

export const invocationsOf = async ({ workers }: FaultStack, file: string): Promise<Figures> => {
  const sums: Figures = {}
  for (const pid of workers.flatMap((worker) => worker.pid() ?? [])) {
    const counts = JSON.parse(await askProcess(pid, `${file}-${pid}`)) as Figures
    for (const [name, count] of Object.entries(counts)) sums[name] = (sums[name] ?? 0) + count
  }
  return sums
}
