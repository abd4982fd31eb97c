interface Shared<Result> {
  result: Promise<Result>
  /** How many callers have not left. */
  waiting: number
  abort: AbortController
}

/**
 * Work that several callers may wait for. The first caller of a key starts it and later ones join. It is aborted when
 * every caller's signal is aborted; a caller that stops waiting without that does not end it.
 */
export type ShareWork<Result> = (
  key: string,
  signal: AbortSignal,
  start: (signal: AbortSignal) => Promise<Result>,
) => Promise<Result>

export const createSharedWork = <Result>(): ShareWork<Result> => {
  const underWay = new Map<string, Shared<Result>>()

  const begin = (key: string, start: (signal: AbortSignal) => Promise<Result>): Shared<Result> => {
    const abort = new AbortController()
    const shared: Shared<Result> = { waiting: 0, abort, result: start(abort.signal) }
    underWay.set(key, shared)
    const forget = () => {
      if (underWay.get(key) === shared) underWay.delete(key)
    }
    // Whoever comes after the abort starts anew.
    abort.signal.addEventListener('abort', forget)
    // Everybody may have left; a failure that nobody hears of must not end the process.
    shared.result.then(forget, forget)
    return shared
  }

  return async (key, signal, start) => {
    signal.throwIfAborted()
    const shared = underWay.get(key) ?? begin(key, start)
    shared.waiting += 1
    const { promise: left, reject } = Promise.withResolvers<never>()
    const leave = () => {
      shared.waiting -= 1
      if (shared.waiting === 0) shared.abort.abort(signal.reason)
      reject(signal.reason)
    }
    signal.addEventListener('abort', leave, { once: true })
    try {
      return await Promise.race([shared.result, left])
    } finally {
      signal.removeEventListener('abort', leave)
    }
  }
}
