/**
 * Lets calls that come at the same time share one piece of work, such as one commit. Nothing waits
 * on a timer: a lone call goes at once, calls that arrive while `inFlightMax` batches are under way
 * gather into the next one. `work` answers one result per item, in order; an item's own failure is a
 * rejected entry, a thrown error fails the whole batch.
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
    const taken = waiting.splice(0, sizeMax)
    if (taken.length === 0) return
    inFlight += 1
    schedule()
    try {
      const results = await work(taken.map(({ item }) => item))
      taken.forEach(({ resolve, reject }, index) => {
        const result = results[index]
        if (result?.status === 'fulfilled') resolve(result.value)
        else reject(result?.reason ?? new Error('a batch answered fewer results than it had items'))
      })
    } catch (error) {
      for (const { reject } of taken) reject(error)
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
