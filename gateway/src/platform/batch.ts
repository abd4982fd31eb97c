/**
 * Combines concurrent calls into one operation, such as one commit. There is no timer: a single call runs at once, and
 * calls that arrive while `inFlightMax` batches run are combined into the next one. `work` returns one result per item
 * in order; a rejected result fails its item, a thrown error fails the whole batch.
 */
export const batch = <Item, Result>(
  work: (items: Item[]) => Promise<PromiseSettledResult<Result>[]>,
  { inFlightMax, sizeMax }: { inFlightMax: number; sizeMax: number },
): ((item: Item) => Promise<Result>) => {
  type Waiting = { item: Item; resolve: (result: Result) => void; reject: (reason: unknown) => void }
  const waiting: Waiting[] = []
  let inFlight = 0
  let scheduled = false

  const schedule = () => {
    if (scheduled || inFlight >= inFlightMax || waiting.length === 0) return
    scheduled = true
    setImmediate(() => {
      scheduled = false
      void runOne()
    })
  }

  const runOne = async () => {
    const calls = waiting.splice(0, sizeMax)
    if (calls.length === 0) return
    inFlight += 1
    schedule()
    try {
      const results = await work(calls.map(({ item }) => item))
      calls.forEach(({ resolve, reject }, index) => {
        const result = results[index]
        if (result?.status === 'fulfilled') resolve(result.value)
        else reject(result?.reason ?? new Error('the batch returned fewer results than items'))
      })
    } catch (error) {
      for (const { reject } of calls) reject(error)
    } finally {
      inFlight -= 1
      schedule()
    }
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject })
      schedule()
    })
}

export const fulfilled = <Value>(value: Value): PromiseFulfilledResult<Value> => ({
  status: 'fulfilled',
  value,
})
export const rejected = (reason: unknown): PromiseRejectedResult => ({ status: 'rejected', reason })
