type Release = () => void

interface Turns {
  /** Undefined where too many wait already. Whoever gives up waiting leaves the line at once. */
  take: (signal: AbortSignal) => Promise<Release> | undefined
}

/** One at a time, in the order of asking. */
export function createTurns(mostWaiting: number): Turns {
  const line: (() => void)[] = []
  let taken = false

  function release(): void {
    const next = line.shift()
    if (next === undefined) taken = false
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
        line.splice(line.indexOf(enter), 1)
        reject(signal.reason as Error)
      }
      const enter = () => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      line.push(enter)
      signal.addEventListener('abort', leave, { once: true })
    })
    return once()
  }

  return {
    take: (signal) => {
      if (taken) return line.length < mostWaiting ? wait(signal) : undefined
      taken = true
      return Promise.resolve(once())
    },
  }
}
