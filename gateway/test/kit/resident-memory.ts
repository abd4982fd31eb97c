import { readFile } from 'node:fs/promises'

export const residentMib = async (pid: number): Promise<number> => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024
}

/** The peak resident memory of the process during the work. */
export const peakDuring = async <Result>(pid: number, work: () => Promise<Result>) => {
  let peakMib = 0
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      peakMib = Math.max(peakMib, await residentMib(pid))
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })()
  const result = await work().finally(() => {
    isOver = true
  })
  await watching
  return { peakMib, result }
}
