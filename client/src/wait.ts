/** Resolves after the time, or rejects with the reason of the abort. */
export const wait = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const onAbort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    }, ms)
    if (signal?.aborted === true) onAbort()
    else signal?.addEventListener('abort', onAbort, { once: true })
  })

/** Grows from half a second to eight, with jitter, so that clients disconnected together do not return together. */
export const backoffMs = (attempt: number): number =>
  Math.min(8000, 500 * 2 ** attempt) * (0.75 + Math.random() / 4)
