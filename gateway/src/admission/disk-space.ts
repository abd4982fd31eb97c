import { statfs } from 'node:fs/promises'

import { ApiError } from '@kinora/contract/errors'

import { rejection } from '../platform/metrics/rejections.ts'

/** Refuses uploads while the disk of the spool has less free space than the minimum. */
export interface DiskSpace {
  /** Throws if the minimum would not be free after writing this many bytes. */
  assertFree: (neededBytes?: number) => Promise<void>
}

const cacheMs = 1_000

export const createDiskSpace = (directory: string, freeBytesMin: number): DiskSpace => {
  let cached: { atMs: number; freeBytes: Promise<number> } | undefined
  const freeBytes = (): Promise<number> => {
    if (cached === undefined || performance.now() - cached.atMs > cacheMs) {
      cached = {
        atMs: performance.now(),
        freeBytes: statfs(directory).then(({ bavail, bsize }) => bavail * bsize),
      }
    }
    return cached.freeBytes
  }
  return {
    assertFree: async (neededBytes = 0) => {
      if ((await freeBytes()) - neededBytes >= freeBytesMin) return
      throw rejection(
        'bytes',
        new ApiError('service_unavailable', {
          message: 'This server has too little disk space for uploads at the moment.',
          headers: { 'retry-after': '30' },
        }),
      )
    },
  }
}
