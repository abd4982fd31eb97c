import { statfs } from 'node:fs/promises'

import { ApiError } from '@kinora/contract/errors'

/** Refuses uploads while the disk they are spooled to has less free space than the floor. */
export interface DiskSpace {
  /** Throws where so much more would not leave the floor free. */
  assertFree: (neededBytes?: number) => Promise<void>
}

const askAgainAfterMs = 1_000

export const createDiskSpace = (directory: string, freeBytesMin: number): DiskSpace => {
  let asked: { atMs: number; freeBytes: Promise<number> } | undefined
  const freeBytes = (): Promise<number> => {
    if (asked === undefined || performance.now() - asked.atMs > askAgainAfterMs) {
      asked = {
        atMs: performance.now(),
        freeBytes: statfs(directory).then(({ bavail, bsize }) => bavail * bsize),
      }
    }
    return asked.freeBytes
  }
  return {
    assertFree: async (neededBytes = 0) => {
      if ((await freeBytes()) - neededBytes >= freeBytesMin) return
      throw new ApiError('service_unavailable', {
        message: 'This server has too little disk space for uploads at the moment.',
        headers: { 'retry-after': '30' },
      })
    },
  }
}
