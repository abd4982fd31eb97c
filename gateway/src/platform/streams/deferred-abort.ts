/** A signal for work that a client's disconnect must not end before the work has begun to yield something. */
export interface DeferredAbort {
  signal: AbortSignal
  /** From here on the client's disconnect ends the work; at once where it has happened already. */
  attach: () => void
}

/** How long work goes on that no client waits for, so that a provider that hangs does not keep its place for hours. */
const abandonedMsMax = 600_000

/** Until it is attached, only a time limit aborts it. */
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
