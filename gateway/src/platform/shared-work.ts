interface Shared<Result> {
  result: Promise<Result>
  /** How many callers still wait. */
  waiting: number
  abort: AbortController
}

/**
 * Work that several callers share. The first caller of a key starts it and later ones join. It is aborted when the
 * signals of all callers are aborted. If results are stored, `start` looks for one first: a result that was stored after
 * the caller looked is otherwise made twice.
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
    // A caller that comes after the abort starts the work again.
    abort.signal.addEventListener('abort', forget)
    // All callers may have left, so the rejection needs a handler.
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
