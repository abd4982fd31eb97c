/** Lets so many pieces of work run at once; the others wait their turn in the order they came. */
export const concurrencyLimit = (count: number) => {
  let running = 0
  const waiting: (() => void)[] = []
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (running >= count) await new Promise<void>((resolve) => waiting.push(resolve))
    else running += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      // Whoever waited longest takes over this place, so the count stays as it is.
      if (next === undefined) running -= 1
      else next()
    }
  }
}

/** The same for each key on its own. Answers, once it is this one's turn, how to leave again; waiting can be given up. */
export const concurrencyLimitPerKey = (count: number) => {
  const lanes = new Map<string, { run: ReturnType<typeof concurrencyLimit>; inside: number }>()
  return async (key: string, signal?: AbortSignal): Promise<() => void> => {
    signal?.throwIfAborted()
    const lane = lanes.get(key) ?? { run: concurrencyLimit(count), inside: 0 }
    lanes.set(key, lane)
    lane.inside += 1
    const entered = Promise.withResolvers<void>()
    const left = Promise.withResolvers<void>()
    const giveUp = () => {
      left.resolve()
      entered.reject(signal?.reason)
    }
    signal?.addEventListener('abort', giveUp)
    void lane.run(async () => {
      entered.resolve()
      await left.promise
      lane.inside -= 1
      if (lane.inside === 0) lanes.delete(key)
    })
    try {
      await entered.promise
      return left.resolve
    } finally {
      signal?.removeEventListener('abort', giveUp)
    }
  }
}
