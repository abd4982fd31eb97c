import { vi } from 'vitest'

/** Starts something whose periodic refreshes never run, so that only a notification can tell it of a change. */
export const withoutIntervals = async <Started>(start: () => Promise<Started>): Promise<Started> => {
  vi.useFakeTimers({ toFake: ['setInterval'] })
  try {
    return await start()
  } finally {
    vi.useRealTimers()
  }
}
