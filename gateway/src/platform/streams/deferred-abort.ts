/** A signal for work that a client's disconnect must not end before the work has begun to produce output. */
export interface DeferredAbort {
  signal: AbortSignal
  /** From here on a disconnect ends the work, at once if it has already happened. */
  attach: () => void
}

/** How long abandoned work may go on, so that a hanging provider does not occupy a slot for hours. */
const abandonedMsMax = 600_000

/** Until `attach` is called, only a time limit aborts the signal. */
export const createDeferredAbort = (client: AbortSignal, timeoutMs?: number): DeferredAbort => {
  const stop = new AbortController()
  const end = () => stop.abort(client.reason)
  let ending: NodeJS.Timeout | undefined
  const abandon = () => {
    ending = setTimeout(end, abandonedMsMax).unref()
  }
  if (client.aborted) abandon()
  else client.addEventListener('abort', abandon, { once: true })
  return {
    signal:
      timeoutMs === undefined ? stop.signal : AbortSignal.any([stop.signal, AbortSignal.timeout(timeoutMs)]),
    attach: () => {
      client.removeEventListener('abort', abandon)
      clearTimeout(ending)
      if (client.aborted) end()
      else client.addEventListener('abort', end, { once: true })
    },
  }
}
