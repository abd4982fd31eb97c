import { readFile } from 'node:fs/promises'

import type { Part } from '../faults/part.ts'

/** A part whose children are killed with it, as when its machine goes down. */
export const withChildren = (part: Part): Part => ({
  ...part,
  kill: async (signal = 'SIGKILL') => {
    const pid = part.pid()
    const children =
      signal === 'SIGKILL' && pid !== undefined
        ? (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).split(' ').filter(Boolean)
        : []
    await part.kill(signal)
    for (const child of children) {
      try {
        process.kill(Number(child), 'SIGKILL')
      } catch {
        // It has ended with its parent.
      }
    }
  },
})
