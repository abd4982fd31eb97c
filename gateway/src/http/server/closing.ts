import { ApiError } from '@kinora/contract/errors'

/** Tells calls that wait for something far off that this process is about to close. */
export interface Closing {
  /** The call will be told, unless it is over before; one that starts to wait during the close is told at once. */
  tell: (waiting: AbortController) => void
  forget: (waiting: AbortController) => void
  begin: () => void
}

export const createClosing = (): Closing => {
  const waitingCalls = new Set<AbortController>()
  let firstByteOf = false
  const abort = (waiting: AbortController) =>
    waiting.abort(
      new ApiError('service_unavailable', { message: 'This server is being restarted; connect again.' }),
    )
  return {
    tell: (waiting) => {
      if (firstByteOf) abort(waiting)
      else waitingCalls.add(waiting)
    },
    forget: (waiting) => {
      waitingCalls.delete(waiting)
    },
    begin: () => {
      firstByteOf = true
      for (const waiting of waitingCalls) abort(waiting)
      waitingCalls.clear()
    },
  }
}
