import { vi } from 'vitest'

/** Starts a service without its periodic refreshes, so that only a notification can update it. */
export const withoutIntervals = async <Started>(start: () => Promise<Started>): Promise<Started> => {
  vi.useFakeTimers({ toFake: ['setInterval'] })
  try {
    return await start()
  } finally {
    vi.useRealTimers()
  }
}
