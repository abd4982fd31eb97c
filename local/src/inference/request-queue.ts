type Release = () => void

interface RequestQueue {
  /** Undefined if the queue is full. A request whose signal is aborted leaves the queue at once. */
  acquire: (signal: AbortSignal) => Promise<Release> | undefined
}

/** Admits one request at a time, in the order of arrival. */
export function createRequestQueue(mostWaiting: number): RequestQueue {
  const waiting: (() => void)[] = []
  let busy = false

  function release(): void {
    const next = waiting.shift()
    if (next === undefined) busy = false
    else next()
  }

  function once(): Release {
    let released = false
    return () => {
      if (!released) release()
      released = true
    }
  }

  async function wait(signal: AbortSignal): Promise<Release> {
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        waiting.splice(waiting.indexOf(enter), 1)
        reject(signal.reason as Error)
      }
      const enter = () => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      waiting.push(enter)
      signal.addEventListener('abort', leave, { once: true })
    })
    return once()
  }

  return {
    acquire: (signal) => {
      if (busy) return waiting.length < mostWaiting ? wait(signal) : undefined
      busy = true
      return Promise.resolve(once())
    },
  }
}
