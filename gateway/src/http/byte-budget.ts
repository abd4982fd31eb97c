import { ApiError } from '@kinora/contract/errors'

/**
 * Bounds the bytes of JSON being read and parsed at once in this process. A body larger than the whole
 * budget runs alone; one that does not get its turn in time is sent away to come back.
 */
export const createByteBudget = (totalBytes: number, waitMs = 10_000) => {
  let takenBytes = 0
  const waiting: { bytes: number; start: () => void }[] = []

  const fits = (bytes: number) => takenBytes === 0 || takenBytes + bytes <= totalBytes
  const startWaiting = () => {
    for (let next = waiting[0]; next !== undefined && fits(next.bytes); next = waiting[0]) {
      waiting.shift()
      takenBytes += next.bytes
      next.start()
    }
  }
  const release = (bytes: number) => {
    takenBytes -= bytes
    startWaiting()
  }

  const take = (bytes: number): Promise<void> => {
    if (waiting.length === 0 && fits(bytes)) {
      takenBytes += bytes
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const entry = {
        bytes,
        start: () => {
          clearTimeout(timer)
          resolve()
        },
      }
      const timer = setTimeout(() => {
        waiting.splice(waiting.indexOf(entry), 1)
        startWaiting()
        reject(
          new ApiError('service_unavailable', {
            message: 'Too many large requests are being read at once.',
            headers: { 'retry-after': '2' },
          }),
        )
      }, waitMs)
      waiting.push(entry)
    })
  }

  return {
    within: async <Result>(bytes: number, work: () => Promise<Result>): Promise<Result> => {
      await take(bytes)
      try {
        return await work()
      } finally {
        release(bytes)
      }
    },
  }
}

export type ByteBudget = ReturnType<typeof createByteBudget>
