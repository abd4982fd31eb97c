import { readFile, rm } from 'node:fs/promises'

import { until } from '../../gateway/test/faults/part.ts'

/** Sends SIGUSR2 to a process that then writes this file, and returns its text. */
export const askProcess = async (pid: number | undefined, file: string, everyMs = 50): Promise<string> => {
  if (pid === undefined) throw new Error('the process is not running')
  await rm(file, { force: true })
  process.kill(pid, 'SIGUSR2')
  let text = ''
  const read = async () => {
    text = await readFile(file, 'utf8')
    return true
  }
  await until(`the process has written ${file}`, read, { everyMs })
  return text
}
