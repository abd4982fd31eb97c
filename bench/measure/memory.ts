import { readFileSync } from 'node:fs'

/** The memory of a process in KiB, of which shared pages count in part; 0 if it has ended. */
export const memoryKibOf = (pid: number | undefined): number => {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
    return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0)
  } catch {
    return 0
  }
}
