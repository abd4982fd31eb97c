import { readFileSync } from 'node:fs'

import { askProcess } from './ask-process.ts'

const collector = new URL('collect-garbage.ts', import.meta.url)

/** The environment in which a role collects its garbage when it is asked to. */
export const collectGarbageIn = (file: string) => ({
  NODE_OPTIONS: `--import ${collector.href}`,
  COLLECTED_FILE: file,
})

/** Collects the garbage of a role, which is no memory of its tasks, and returns the memory that it has then. */
export const collectGarbage = async (pid: number | undefined, file: string): Promise<NodeJS.MemoryUsage> =>
  JSON.parse(await askProcess(pid, `${file}-${pid}`)) as NodeJS.MemoryUsage

/** The memory of a process in KiB, of which shared pages count in part; 0 if it has ended. */
export const memoryKibOf = (pid: number | undefined): number => {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
    return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0)
  } catch {
    return 0
  }
}
